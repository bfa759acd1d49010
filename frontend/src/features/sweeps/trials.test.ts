import { describe, expect, test } from "vitest";
import type { SweepTrial } from "@/api/sweeps";
import { axesOf } from "./axes";
import { comparedJobs, comparisonOf, shortPath, sorted } from "./trials";

const RATE = "optimizer.learning_rate";

const trial = (
  number: number,
  objective: number | null,
  parameters: Record<string, unknown>,
): SweepTrial => ({
  number,
  setting: number,
  name: `setting ${number}`,
  parameters,
  seed: null,
  job: `ftjob-${number}`,
  status: "succeeded",
  ended_by: null,
  error: null,
  objective,
  objective_step: 3,
  evaluations: 3,
  step: 3,
  steps: 3,
  seconds: 10 - number,
  cost: null,
  adapter: null,
});

const TRIALS = [
  trial(0, 0.2, { [RATE]: 0.0001, "algorithm.preset": "grpo" }),
  trial(1, null, { [RATE]: 0.01, "algorithm.preset": "dapo" }),
  trial(2, 0.9, { [RATE]: 0.001, "algorithm.preset": "dapo" }),
];
const numbers = (trials: readonly SweepTrial[]) => trials.map(({ number }) => number);

describe("trials", () => {
  test("are sorted by held-out reward unless a column is named; those without a value are last", () => {
    expect(numbers(sorted(TRIALS))).toEqual([2, 0, 1]);
    expect(numbers(sorted(TRIALS, "objective"))).toEqual([0, 2, 1]);
    expect(numbers(sorted(TRIALS, `-${RATE}`))).toEqual([1, 2, 0]);
    expect(numbers(sorted(TRIALS, "seconds"))).toEqual([2, 1, 0]);
  });

  test("are compared with the first one", () => {
    expect(comparedJobs({ trials: TRIALS })).toEqual(["ftjob-0", "ftjob-2", "ftjob-1"]);
  });

  test("that differ in their seed only are compared as groups", () => {
    const setting = { setting: 0, name: "", parameters: {}, objective: 0, low: 0, high: 0, measured: 1 };
    const jobs = "ftjob-0,ftjob-2,ftjob-1";
    const one = comparisonOf({ trials: TRIALS, settings: [{ ...setting, trials: [0] }] });
    expect(one).toEqual({ jobs });
    const seeds = comparisonOf({ trials: TRIALS, settings: [{ ...setting, trials: [0, 1, 2] }] });
    expect(seeds).toEqual({ jobs, group: "seeds" });
    expect(comparisonOf({ trials: TRIALS.slice(0, 1), settings: [] })).toBeNull();
  });

  test("a path is shortened as long as it stays clear", () => {
    expect(shortPath(RATE, [RATE, "seed"])).toBe("learning_rate");
    expect(shortPath("rewards.a.weight", ["rewards.a.weight", "rewards.b.weight"])).toBe("rewards.a.weight");
  });
});

describe("axes", () => {
  test("span the values, by orders of magnitude where they do", () => {
    const [rate, preset, reward] = axesOf([RATE, "algorithm.preset"], TRIALS);
    expect(TRIALS.map((one) => rate?.at(one)?.toFixed(2))).toEqual(["0.00", "1.00", "0.50"]);
    expect(preset?.ticks).toEqual([
      { label: "grpo", at: 0 },
      { label: "dapo", at: 1 },
    ]);
    expect(TRIALS.map((one) => reward?.at(one))).toEqual([0, null, 1]);
  });
});
