import { describe, expect, it } from "vitest";
import { align, valueRange } from "./model";

describe("align", () => {
  const train = { source: { steps: [1, 2, 4], values: [0.1, 0.2, 0.4] } };
  const heldOut = { source: { steps: [0, 4], values: [0.5, null] }, sparse: true };

  it("leaves a hole where a step is missing, and never bridges it", () => {
    const dense = { source: { steps: [3], values: [1] } };
    expect(align([train, dense])).toEqual([
      [1, 2, 3, 4],
      [0.1, 0.2, null, 0.4],
      [null, null, 1, null],
    ]);
  });

  it("does not take steps between two evaluations for holes", () => {
    expect(align([train, heldOut])[2]).toEqual([0.5, undefined, undefined, null]);
  });

  it("is empty without sources", () => {
    expect(align([{ source: undefined }])).toEqual([[], []]);
  });
});

describe("valueRange", () => {
  const range = (values: (number | null)[], asked = {}) => valueRange([[0], values] as never, asked);

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
  });
});
