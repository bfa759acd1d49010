import { describe, expect, it } from "vitest";
import { estimate, resampled, twister } from "./bootstrap";

// From CPython's `random.Random` and from `reinforge.evaluation`.
describe("the generator", () => {
  it("gives CPython's fractions", () => {
    const random = twister(0);
    expect([random(), random(), random(), random()]).toEqual([
      0.8444218515250481, 0.7579544029403025, 0.420571580830845, 0.25891675029296335,
    ]);
    const other = twister(7);
    expect([other(), other()]).toEqual([0.32383276483316237, 0.15084917392450192]);
  });
  it("goes on behind its first state", () => {
    const random = twister(0);
    let last = 0;
    for (let i = 0; i < 2000; i += 1) last = random();
    expect(last).toBe(0.35278860284662805);
  });
});

describe("an estimate", () => {
  const values = [0, 1, 0.25, 0.75, 0.5, 1, 0, 0.125];
  it("is the server's, interval included", () => {
    expect(estimate(values)).toEqual({ value: 0.453125, low: 0.1875, high: 0.71875 });
    const means = resampled(values);
    expect([means[0], means[50], means[1000], means.at(-1)]).toEqual([0.046875, 0.1875, 0.453125, 0.90625]);
  });
  it("is the server's for differences too", () => {
    const interval = estimate(Array.from({ length: 60 }, (_, i) => ((i * 37) % 101) / 100 - 0.4));
    expect(interval?.value).toBeCloseTo(0.09516666666666664, 12);
    expect(interval?.low).toBeCloseTo(0.02416666666666664, 12);
    expect(interval?.high).toBeCloseTo(0.16433333333333333, 12);
  });
  it("is none without values", () => {
    expect(estimate([])).toBeNull();
  });
});
