import { describe, expect, it } from "vitest";
import { byAdvantage, side } from "./advantage";

const row = (sample_no: number, advantage: number | null, reward: number | null = 0) => ({
  sample_no,
  advantage,
  reward,
});

describe("side", () => {
  it("is positive, negative or neutral by the sign that is shown", () => {
    expect([1.21, -0.72, 0, 0.004, -0.004].map(side)).toEqual([
      "positive",
      "negative",
      "neutral",
      "neutral",
      "neutral",
    ]);
  });

  it("is none for a completion outside its group", () => {
    expect(side(null)).toBe("none");
  });
});

describe("byAdvantage", () => {
  it("puts the best first and completions without a reward last", () => {
    const rows = [row(0, -0.72), row(1, null, null), row(2, 1.21, 1), row(3, 0, 0.5)];
    expect(byAdvantage(rows).map((one) => one.sample_no)).toEqual([2, 3, 0, 1]);
  });

  it("keeps the sampling order among equals, and sorts by reward where there are no advantages", () => {
    expect(byAdvantage([row(2, 1), row(0, 1), row(1, 1)]).map((one) => one.sample_no)).toEqual([0, 1, 2]);
    expect(byAdvantage([row(0, null, 0), row(1, null, 1)]).map((one) => one.sample_no)).toEqual([1, 0]);
  });

  it("does not reorder what it was given", () => {
    const rows = [row(0, 0), row(1, 1)];
    byAdvantage(rows);
    expect(rows.map((one) => one.sample_no)).toEqual([0, 1]);
  });
});
