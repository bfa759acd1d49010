import { describe, expect, it } from "vitest";
import { FLOOR } from "./model";
import { logRange, logTicks, valueRange } from "./scale";

const range = (values: (number | null)[], bounds = {}) =>
  valueRange([values], [0, values.length - 1], bounds);

describe("valueRange", () => {
  it("ends at round numbers around the data", () => {
    expect(range([0.003, 0.0976], { min: 0 })).toEqual([0, 0.1]);
    expect(range([12, 58], { min: 0 })).toEqual([0, 60]);
    expect(range([-0.4, 0.3])).toEqual([-0.4, 0.4]);
  });

  it("keeps what was asked for unless the data lie outside", () => {
    expect(range([0.2, 0.9], { min: 0, max: 1 })).toEqual([0, 1]);
    expect(range([-1, 0.9], { min: 0, max: 1 })[0]).toBeLessThanOrEqual(-1);
  });

  it("has room around a constant and without data", () => {
    const [low, high] = range([2, 2]);
    expect(low).toBeLessThan(2);
    expect(high).toBeGreaterThan(2);
    expect(range([null])).toEqual([0, 1]);
    expect(range([0, 0], { min: 0 })).toEqual([0, 1]);
    expect(range([null], { min: 0, max: 0.1 })).toEqual([0, 0.1]);
  });

  it("looks at the visible points only", () => {
    expect(valueRange([[100, 1, 2, 100]], [1, 2], { min: 0 })).toEqual([0, 2]);
  });
});

describe("logRange", () => {
  it("ends at whole powers of ten, one apart at least", () => {
    expect(logRange([[0.003, 0.4]], [0, 1])).toEqual([0.001, 1]);
    expect(logRange([[1]], [0, 0])).toEqual([1, 10]);
  });

  it("does not look at what it cannot show", () => {
    expect(logRange([[FLOOR, null, 0.5]], [0, 2])).toEqual([0.1, 1]);
    expect(logRange([[null]], [0, 0])).toEqual([0.1, 1]);
  });
});

describe("logTicks", () => {
  it("names 1, 2 and 5 where there is room, else powers of ten", () => {
    expect(logTicks([0.1, 1], 5)).toEqual([0.1, 0.2, 0.5, 1]);
    expect(logTicks([0.01, 1], 5)).toEqual([0.01, 0.1, 1]);
    expect(logTicks([0.01, 1], 9)).toHaveLength(7);
    expect(logTicks([1e-6, 1], 4).length).toBeLessThanOrEqual(4);
  });
});
