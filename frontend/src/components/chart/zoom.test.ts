import { describe, expect, it } from "vitest";
import { around, clamp, zoomBack, zoomTo } from "./zoom";

describe("clamp", () => {
  it("rounds outwards to whole steps inside the job", () => {
    expect(clamp([10.4, 19.2], 60)).toEqual([10, 20]);
    expect(clamp([-5, 30], 60)).toEqual([0, 30]);
  });

  it("is at least a step wide, and nothing when it is everything", () => {
    expect(clamp([5, 5], 60)).toEqual([5, 6]);
    expect(clamp([60, 60], 60)).toEqual([59, 60]);
    expect(clamp([-1, 99], 60)).toBeNull();
  });
});

describe("back", () => {
  it("goes through the ranges in reverse", () => {
    let zoom = zoomTo({ range: null, back: [] }, [10, 40]);
    zoom = zoomTo(zoom, [20, 30]);
    zoom = zoomTo(zoom, [20, 30]);
    zoom = zoomBack(zoom);
    expect(zoom.range).toEqual([10, 40]);
    zoom = zoomBack(zoom);
    expect(zoom).toEqual({ range: null, back: [] });
  });

  it("leads from a shared address to all steps", () => {
    expect(zoomBack({ range: [1, 5], back: [] }).range).toBeNull();
  });

  it("can undo a reset", () => {
    expect(zoomBack(zoomTo({ range: [3, 9], back: [] }, null)).range).toEqual([3, 9]);
  });
});

describe("around", () => {
  it("halves the range and keeps the step where it is", () => {
    expect(around(null, 30, 0.5, 60)).toEqual([15, 45]);
    expect(around([0, 40], 0, 0.5, 60)).toEqual([0, 20]);
    expect(around([15, 45], 30, 2, 60)).toBeNull();
  });
});
