import { describe, expect, it } from "vitest";
import type { CompletionRow } from "@/api/completions";
import { bySteps, choose, pair, type StepOfPrompt, trend } from "./across";

const row = (step: number, prompt_no: number, sample_no: number, reward: number | null) =>
  ({ step, prompt_no, sample_no, reward }) as CompletionRow;

const STEPS = bySteps([
  row(9, 4, 1, 1),
  row(9, 4, 0, 0.5),
  row(2, 1, 0, 0),
  row(2, 1, 1, null),
  row(30, 7, 0, null),
  row(9, 2, 3, 1),
]);

describe("one prompt over steps", () => {
  it("is told by step, oldest first; drawn twice in a step counts as one", () => {
    expect(STEPS.map((one) => [one.step, one.rewards])).toEqual([
      [2, [0, null]],
      [9, [1, 0.5, 1]],
      [30, [null]],
    ]);
    expect(STEPS.map((one) => one.mean)).toEqual([0, 2.5 / 3, null]);
  });

  it("has one completion that stands for a step", () => {
    const places = (pick: "best" | "first") =>
      STEPS.map((one) => choose(one, pick)).map((one) => one && [one.prompt_no, one.sample_no]);
    expect(places("best")).toEqual([
      [1, 0],
      [2, 3],
      [7, 0],
    ]);
    expect(places("first")).toEqual([
      [1, 0],
      [2, 3],
      [7, 0],
    ]);
    expect(
      choose({ step: 1, rows: [row(1, 0, 0, -2), row(1, 0, 1, -1)], mean: null, rewards: [] }, "best"),
    ).toEqual(row(1, 0, 1, -1));
  });

  it("is compared between the steps asked for, else between the first and the last", () => {
    const steps = (a?: number, b?: number) => pair(STEPS, a, b)?.map((one) => one.step);
    expect(steps(9, 2)).toEqual([9, 2]);
    expect(steps()).toEqual([2, 30]);
    expect(steps(5, 9)).toEqual([2, 9]);
    expect(pair([], 1, 2)).toBeUndefined();
  });

  it("is told in a sentence", () => {
    const say = (value: number) => value.toFixed(1);
    expect(trend(STEPS, say)).toBe("Mean reward up from 0.0 at step 2 to 0.8 at step 9.");
    expect(trend(STEPS.slice(0, 1), say)).toBe("Mean reward 0.0 at step 2.");
    expect(trend([] as StepOfPrompt[], say)).toBe("No rewards yet.");
  });
});
