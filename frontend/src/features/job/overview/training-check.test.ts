import { describe, expect, it } from "vitest";
import { type SeriesMap, seriesMap } from "../series";
import { checkTraining } from "./training-check";

const STEPS = 40;
type Shape = number | ((step: number) => number);

/** A job's curves by formula; those named `held_out/…` are measured every ten steps from 0. */
function job(shapes: Record<string, Shape>, steps = STEPS): SeriesMap {
  const series = Object.entries(shapes).map(([key, shape]) => {
    const held = key.startsWith("held_out/");
    const at = Array.from({ length: held ? steps / 10 + 1 : steps }, (_, i) => (held ? i * 10 : i + 1));
    const values = at.map((step) => (typeof shape === "number" ? shape : shape(step)));
    const kind = held ? ("held_out" as const) : ("train" as const);
    return { key, kind, steps: at, values, ts: at };
  });
  return seriesMap({ object: "metrics", job: "ftjob-a", seq: 0, series });
}

const rising = (from: number, to: number) => (step: number) => from + ((to - from) * step) / STEPS;
const wobble = (around: number) => (step: number) => around + 0.04 * Math.sin(step * 2.1);
const ids = (series: SeriesMap) => checkTraining(series).observations.map((one) => one.id);

const HEALTHY = {
  "reward/mean": rising(0.4, 0.9),
  "reward/std": 0.4,
  "held_out/reward_mean": rising(0.42, 0.88),
  "held_out/reward_std_error": 0.02,
  "entropy/mean": rising(0.5, 0.2),
  "groups/zero_variance_share": 0.2,
  "groups/all_right_share": 0.15,
  "groups/all_wrong_share": 0.05,
  "completions/truncated_share": 0.01,
  "completions/length_mean": rising(30, 40),
  "reward/error_share": 0,
  "sampler/gap_mean": 1e-6,
};

describe("checkTraining", () => {
  it("says yes with the held-out reward as evidence, and asks for nothing", () => {
    const check = checkTraining(job(HEALTHY));
    expect(check.verdict).toBe("yes");
    expect(check.headline).toContain("0.42 to 0.88");
    expect(check.observations.filter(({ tone }) => tone === "act" || tone === "watch")).toEqual([]);
  });

  it("always explains the loss, last", () => {
    expect(ids(job(HEALTHY)).at(-1)).toBe("loss");
    expect(ids(seriesMap(undefined))).toEqual(["loss"]);
    expect(checkTraining(seriesMap(undefined)).verdict).toBe("nothing");
  });

  it("does not judge the first steps, but names what is already broken", () => {
    const check = checkTraining(job({ ...HEALTHY, "reward/error_share": 0.5 }, 3));
    expect(check.verdict).toBe("early");
    expect(check.observations[0]?.id).toBe("reward-errors");
  });

  it("does not take a rise within the noise for training", () => {
    const check = checkTraining(job({ "reward/mean": wobble(0.5), "reward/std": 0.4 }));
    expect(check.verdict).toBe("unsure");
    expect(check.headline).toContain("0.5");
  });

  it("does not call a held-out rise certain that may be chance", () => {
    const series = job({
      ...HEALTHY,
      "held_out/reward_mean": rising(0.42, 0.45),
      "held_out/reward_std_error": 0.05,
    });
    expect(checkTraining(series).verdict).toBe("unsure");
    expect(ids(series)).toContain("not-carried-over");
  });

  it("needs a larger change on few held-out rows, as the server does", () => {
    const series = job({
      ...HEALTHY,
      "held_out/reward_mean": rising(0.42, 0.5),
      "held_out/reward_std_error": 0.025,
    });
    expect(checkTraining(series, { rows: 64 }).verdict).toBe("yes");
    expect(checkTraining(series, { rows: 6 }).verdict).toBe("unsure");
    expect(checkTraining(job(HEALTHY), { rows: 4 }).verdict).toBe("unsure");
  });

  it("praises nothing where the server does not say that the job learned", () => {
    const observation = (outcome: "learned" | "no_change") =>
      checkTraining(job(HEALTHY), { outcome }).observations.map((one) => one.id);
    expect(observation("learned")).toContain("held-out");
    expect(observation("no_change")).not.toContain("held-out");
    expect(observation("no_change")).not.toContain("entropy");
  });

  it("says no to a reward that is the same for everything, however high", () => {
    const check = checkTraining(job({ "reward/mean": 1, "reward/std": 0 }));
    expect(check.headline).toBe("No: all completions score the same, so there is no training signal.");
  });

  it("says what is missing without held-out rows", () => {
    const { "held_out/reward_mean": _, "held_out/reward_std_error": __, ...train } = HEALTHY;
    const check = checkTraining(job(train));
    expect(check.verdict).toBe("unsure");
    expect(check.headline).toContain("there are no held-out rows");
  });

  /** A real job whose learning rate of 0.02 destroyed the policy. */
  const DESTROYED = {
    "reward/mean": (step: number) => [0.5, 0.109][step - 1] ?? 0,
    "reward/std": (step: number) => [0.5, 0.3][step - 1] ?? 0,
    "held_out/reward_mean": (step: number) => (step === 0 ? 0.51 : 0),
    "held_out/reward_std_error": (step: number) => (step === 0 ? 0.055 : 0),
    "completions/truncated_share": (step: number) => [0, 0.266][step - 1] ?? 1,
    "groups/zero_variance_share": (step: number) => [0.1, 0.4][step - 1] ?? 1,
    "groups/all_wrong_share": (step: number) => [0, 0.4][step - 1] ?? 1,
    "entropy/mean": rising(0.08, 0.44),
    "optimizer/learning_rate": 0.02,
  };

  it("names the fall of a destroyed policy first, and asks for a lower learning rate", () => {
    const check = checkTraining(job(DESTROYED));
    expect(check.verdict).toBe("no");
    expect(check.headline).toBe(
      "No: held-out reward fell below base, from 0.51 to 0.00, 100% of completions hit the token limit.",
    );
    expect(check.observations[0]?.id).toBe("worse");
    expect(check.observations[0]?.advice).toContain("the learning rate: start with a tenth of 0.02");
    const others = check.observations.filter(({ id }) => id !== "worse" && id !== "entropy-blow-up");
    expect(others.map(({ advice }) => advice).filter(Boolean)).toEqual([]);
    expect(JSON.stringify(check)).not.toContain("The checkpoint of step 0");
  });

  it("takes some long completions at the start for no cause of the fall", () => {
    const share = (step: number) => [0.3, 0.75][step - 1] ?? 0.95;
    const check = checkTraining(job({ ...DESTROYED, "completions/truncated_share": share }));
    expect(check.observations[0]?.id).toBe("worse");
    expect(JSON.stringify(check)).not.toContain("max_completion_tokens");
  });

  it("keeps the advice on what was there before the fall", () => {
    const cut = checkTraining(job({ ...DESTROYED, "completions/truncated_share": 1 }));
    expect(cut.observations[0]?.id).toBe("truncated");
    expect(cut.observations[0]?.advice).toContain("max_completion_tokens");
  });

  /** A real job whose reward paid for length. */
  const LENGTH_PAID = {
    ...HEALTHY,
    "held_out/reward_mean": rising(0.5, 0.93),
    "held_out/answer_share": (step: number) => [0.53, 0.31, 0.02][step / 10] ?? 0.02,
    "held_out/answer_std_error": 0.05,
    "reward/length_correlation": 0.96,
    "groups/zero_variance_share": 0.94,
    "groups/all_right_share": 0.94,
    "completions/truncated_share": (step: number) => (step < 17 ? 0.1 : 1),
  };

  it("does not praise a reward that pays for length", () => {
    const check = checkTraining(job(LENGTH_PAID));
    expect(check.verdict).toBe("unsure");
    expect(check.headline).toBe(
      "Cannot tell: reward follows length (r = 0.96), correct answers fell from 0.53 to 0.02, 100% of completions hit the token limit.",
    );
    expect(check.observations.map(({ id }) => id).slice(0, 3)).toEqual(["length", "answers", "truncated"]);
    for (const praise of ["solved", "held-out", "entropy"])
      expect(ids(job(LENGTH_PAID))).not.toContain(praise);
    expect(JSON.stringify(check)).not.toContain("this counts");
  });

  it.each([
    ["everything is truncated", { "completions/truncated_share": 1 }],
    ["reward follows length", { "reward/length_correlation": 0.8 }],
    [
      "the answers disagree",
      { "held_out/answer_share": rising(0.5, 0.1), "held_out/answer_std_error": 0.02 },
    ],
    ["held-out is below base", { "held_out/reward_mean": rising(0.5, 0.47) }],
  ])("never says yes while %s", (_, shapes) => {
    const check = checkTraining(job({ ...HEALTHY, ...shapes }));
    expect(check.headline).toMatch(/^(Cannot tell|No): /);
    expect(check.verdict).not.toBe("yes");
  });

  it("believes right answers that rose, even where longer completions get more", () => {
    const answers = { "held_out/answer_share": rising(0.4, 0.9), "held_out/answer_std_error": 0.02 };
    expect(checkTraining(job({ ...HEALTHY, "reward/length_correlation": 0.8, ...answers })).verdict).toBe(
      "yes",
    );
  });

  it("notices that held-out reward is past its best", () => {
    const held = (step: number) => (step <= 20 ? 0.4 + step / 50 : 0.8 - (step - 20) / 80);
    expect(ids(job({ ...HEALTHY, "held_out/reward_mean": held }))).toContain("past-best");
  });

  it("tells solved groups from hopeless ones, with the step since when", () => {
    const solved = job({
      ...HEALTHY,
      "groups/zero_variance_share": (step) => (step < 22 ? 0.1 : 0.62),
      "groups/all_right_share": (step) => (step < 22 ? 0.1 : 0.62),
    });
    const one = checkTraining(solved).observations.find(({ id }) => id === "solved");
    expect(one?.evidence).toContain("equal rewards above 0 since step 22");
    const hopeless = { ...HEALTHY, "groups/zero_variance_share": 0.8, "groups/all_wrong_share": 0.8 };
    expect(ids(job(hopeless))[0]).toBe("too-hard");
  });

  it("says no when all completions score the same", () => {
    const check = checkTraining(job({ "reward/mean": 0, "reward/std": 0 }));
    expect(check.verdict).toBe("no");
    expect(check.observations[0]?.id).toBe("no-spread");
  });

  it("says no when the reward falls", () => {
    expect(checkTraining(job({ "reward/mean": rising(0.8, 0.2), "reward/std": 0.4 })).verdict).toBe("no");
  });

  it("takes collapsed entropy for a problem only while there is much left to learn", () => {
    const collapse = { "entropy/mean": rising(0.5, 0.001), "reward/std": 0.3 };
    expect(ids(job({ ...collapse, "reward/mean": wobble(0.4) }))[0]).toBe("entropy-collapse");
    expect(ids(job({ ...collapse, "reward/mean": rising(0.4, 1) }))).not.toContain("entropy-collapse");
  });

  it.each([
    ["truncated", { "completions/truncated_share": 0.4 }],
    ["gap", { "sampler/gap_mean": 0.2 }],
    ["clipped", { "policy/clip_high_share": 0.5 }],
    ["skipped", { "optimizer/skipped_updates": 3 }],
    ["reward-errors", { "reward/error_share": 0.1 }],
    ["entropy-blow-up", { "entropy/mean": rising(0.2, 2) }],
  ])("names %s with evidence and advice", (id, shapes) => {
    const one = checkTraining(job({ ...HEALTHY, ...shapes })).observations.find(
      (observation) => observation.id === id,
    );
    expect(one?.evidence).toMatch(/\d/);
    expect(one?.advice).toBeTruthy();
  });

  it("names completions that grow for nothing", () => {
    const series = job({
      "reward/mean": wobble(0.5),
      "reward/std": 0.4,
      "completions/length_mean": rising(20, 80),
    });
    expect(ids(series)).toContain("longer-for-nothing");
  });
});
