import { describe, expect, it } from "vitest";
import { level, MEASURES, SCALES, summary, valuesOf } from "./scales";

describe("the shade of a token", () => {
  it("has six levels by size", () => {
    expect([0, -0.005, -0.05, -0.5, -1, -3, -9].map((value) => level(value, "logprob"))).toEqual([
      0, 0, 1, 2, 3, 4, 5,
    ]);
    expect([1e-6, -1e-6, 0.5, -0.5, 2].map((value) => level(value, "gap"))).toEqual([0, 0, 4, 4, 5]);
  });

  it("takes the stronger level exactly at an edge", () => {
    for (const measure of MEASURES)
      SCALES[measure].edges.forEach((edge, i) => {
        expect(level(edge, measure)).toBe(i + 1);
      });
  });

  it("is none where no value is", () => {
    expect([level(null, "gap"), level(undefined, "gap"), level(Number.NaN, "gap")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(level(Number.NEGATIVE_INFINITY, "logprob")).toBe(5);
  });

  it("has as many words in the legend as levels", () => {
    for (const measure of MEASURES)
      expect(SCALES[measure].legend).toHaveLength(SCALES[measure].edges.length + 1);
  });
});

describe("the values of a completion", () => {
  const scored = { sampler_logprobs: [-1, -2, -0.5], trainer_logprobs: [-1.5, -2, -0.25], entropies: [] };

  it("are the trainer minus the sampler for the gap", () => {
    expect(valuesOf(scored, "gap")).toEqual([-0.5, 0, 0.25]);
    expect(valuesOf({ ...scored, trainer_logprobs: [-1] }, "gap")).toEqual([0, null, null]);
  });

  it("are unknown where the job did not record them", () => {
    expect(valuesOf(scored, "entropy")).toBeUndefined();
    expect(valuesOf({ sampler_logprobs: [-1] }, "gap")).toBeUndefined();
    expect(valuesOf({}, "logprob")).toBeUndefined();
  });

  it("are summed up in a sentence that says where to look", () => {
    expect(summary([-1, -3, -0.5], "logprob")).toBe("Mean −1.5 nat; least likely at token 2: −3 nat.");
    expect(summary([1e-6, -2e-6], "gap")).toBe("Negligible: the largest gap is 2.0e−6 nat.");
    expect(summary([null], "entropy")).toBe("No values.");
  });
});
