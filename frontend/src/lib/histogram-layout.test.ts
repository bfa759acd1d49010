import { describe, expect, it } from "vitest";
import { layout } from "./histogram-layout";

const bins = [
  { low: 0, high: 10, count: 2 },
  { low: 10, high: 20, count: 4 },
];

describe("layout", () => {
  it("places bars by value and scales them to the largest", () => {
    const { bars, mark } = layout(bins);
    expect(bars.map(({ left, width, height }) => [left, width, height])).toEqual([
      [0, 50, 50],
      [50, 50, 100],
    ]);
    expect(mark).toBeNull();
  });

  it("stretches the axis for a mark behind the values, not for one far away", () => {
    const near = layout(bins, 40);
    expect(near.mark).toBe(100);
    expect(near.bars[1]?.left).toBe(25);
    expect(layout(bins, 512).mark).toBeNull();
    expect(layout(bins, 512).high).toBe(20);
  });

  it("marks a place among the values", () => {
    expect(layout(bins, 5).mark).toBe(25);
  });

  it("gives single values equal places and holds no values at all", () => {
    const points = [
      { low: 0, high: 0, count: 1 },
      { low: 1, high: 1, count: 1 },
    ];
    expect(layout(points).bars.map((bar) => bar.left)).toEqual([0, 50]);
    expect(layout([]).bars).toEqual([]);
  });
});
