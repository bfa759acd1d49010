import { describe, expect, it } from "vitest";
import { smooth, smoothUnit } from "./smooth";

const steps = (count: number, gap = 1) => Array.from({ length: count }, (_, i) => (i + 1) * gap);

describe("smooth", () => {
  it("starts at the first value instead of being pulled towards 0", () => {
    expect(smooth([1, 2], [8, 8], 0.9, 1)).toEqual([8, 8]);
  });

  it("is the debiased moving average of evenly spaced points", () => {
    const [, second, third] = smooth([1, 2, 3], [1, 0, 0], 0.5, 1);
    expect(second).toBeCloseTo(0.5 / 1.5);
    expect(third).toBeCloseTo(0.25 / 1.75);
  });

  it("leaves holes holes and forgets over them by their length", () => {
    const [, hole, after] = smooth([1, 2, 3], [1, null, 0], 0.5, 1);
    expect(hole).toBeNull();
    expect(after).toBeCloseTo(0.25 / 1.25);
    expect(smooth([1, 2], [undefined, 1], 0.5, 1)).toEqual([undefined, 1]);
  });

  it("draws nearly the same curve from few points as from many", () => {
    const wave = (step: number) => Math.sin(step / 150);
    const fine = smooth(steps(1000), steps(1000).map(wave), 0.95, 1);
    const coarse = smooth(steps(250, 4), steps(250, 4).map(wave), 0.95, 1);
    expect(coarse.at(-1)).toBeCloseTo(fine.at(-1) as number, 1);
  });

  it("changes nothing when it is off, and holds at the far end", () => {
    const values = [1, 5];
    expect(smooth([1, 2], values, 0, 1)).toBe(values);
    expect(smooth([1, 2], values, 1, 1)[1]).toBeCloseTo(3, 1);
  });

  it("counts in thousandths of a long job", () => {
    expect(smoothUnit(60)).toBe(1);
    expect(smoothUnit(5000)).toBe(5);
  });
});
