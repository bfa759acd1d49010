import { describe, expect, it } from "vitest";
import { axisOf, drawingOf, FLOOR, within } from "./model";

const line = (label: string, steps: number[], values: (number | null)[], more = {}) => ({
  label,
  color: "c1" as const,
  source: { steps, values },
  ...more,
});

describe("drawn", () => {
  const train = line("train", [1, 2, 4], [0.1, 0.2, 0.4]);
  const heldOut = line("held-out", [0, 4], [0.5, null], { sparse: true });

  it("leaves a hole where a step is missing, and never bridges it", () => {
    const { steps, cells } = drawingOf({ lines: [train, line("dense", [3], [1])] });
    expect(steps).toEqual([1, 2, 3, 4]);
    expect(cells).toEqual([
      [0.1, 0.2, null, 0.4],
      [null, null, 1, null],
    ]);
  });

  it("does not take steps between two evaluations for holes", () => {
    expect(drawingOf({ lines: [train, heldOut] }).cells[1]).toEqual([0.5, undefined, undefined, null]);
  });

  it("hands on columns that need no change, so that a million points are not copied", () => {
    expect(drawingOf({ lines: [train] }).cells[0]).toBe(train.source.values);
    expect(drawingOf({ lines: [train] }).steps).toBe(train.source.steps);
  });

  it("keeps the shape of the plot when a line is hidden", () => {
    const all = drawingOf({ lines: [train, heldOut] });
    const some = drawingOf({ lines: [train, heldOut], hidden: new Set(["train"]) });
    expect(some.columns).toEqual(all.columns);
    expect(some.steps).toEqual(all.steps);
    expect(some.cells[0]).toEqual([]);
  });

  it("smooths dense lines with the measured one behind, and never sparse ones", () => {
    const { columns, cells } = drawingOf({ lines: [train, heldOut], smoothing: 0.5 });
    expect(columns.map((one) => [one.label, one.role])).toEqual([
      ["train", "ghost"],
      ["train", "line"],
      ["held-out", "line"],
    ]);
    expect(cells[1]?.[1]).toBe(0.1);
    expect(cells[1]?.[2]).toBeCloseTo((0.2 + 0.05) / 1.5);
    expect(cells[2]).toEqual([0.5, undefined, undefined, null]);
  });

  it("draws smallest and largest of steps that share a point", () => {
    const bucketed = {
      label: "mean",
      color: "c1" as const,
      source: { steps: [2, 4], values: [1, 2], minima: [0, 1], maxima: [3, 4] },
    };
    const { columns, cells } = drawingOf({ lines: [bucketed] });
    expect(columns.map((one) => one.role)).toEqual(["peak", "trough", "line"]);
    expect(cells).toEqual([
      [3, 4],
      [0, 1],
      [1, 2],
    ]);
  });

  it("bridges the inside of buckets where another line has a point, and keeps measured holes", () => {
    const source = { steps: [4, 8, 12], values: [1, null, 3], minima: [0, null, 2], maxima: [2, null, 4] };
    const { cells } = drawingOf({
      lines: [{ label: "mean", color: "c1", source }, line("held-out", [10], [5], { sparse: true })],
    });
    expect(cells[2]).toEqual([1, null, undefined, 3]);
    expect(cells[0]).toEqual([2, null, undefined, 4]);
  });

  it("says how many values a log axis cannot show, and lets bands reach its floor", () => {
    const band = {
      label: "p10–p90",
      color: "c1" as const,
      low: { steps: [1, 2], values: [0, 0.1] },
      high: { steps: [1, 2], values: [1, 1] },
    };
    const { cells, unshown } = drawingOf({ band, lines: [line("x", [1, 2], [0, -1])], log: true });
    expect(cells).toEqual([
      [1, 1],
      [FLOOR, 0.1],
      [null, null],
    ]);
    expect(unshown).toBe(2);
  });

  it("is empty without sources", () => {
    expect(drawingOf({ lines: [{ label: "x", color: "c1", source: undefined }] })).toMatchObject({
      steps: [],
      cells: [[]],
    });
    expect(axisOf([])).toEqual([]);
  });
});

describe("within", () => {
  it("finds the points of a range, also between points and outside", () => {
    expect(within([1, 3, 5, 7], null)).toEqual([0, 3]);
    expect(within([1, 3, 5, 7], [3, 5])).toEqual([1, 2]);
    expect(within([1, 3, 5, 7], [2, 6])).toEqual([1, 2]);
    expect(within([1, 3], [8, 9])).toEqual([2, 1]);
  });
});
