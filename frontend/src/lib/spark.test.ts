import { describe, expect, it } from "vitest";
import { sparkPaths } from "./spark";

const FRAME = { steps: 10, width: 100, height: 20, margin: 0 };

describe("sparkPaths", () => {
  it("draws from 0 at the bottom to the largest value at the top, up to the job's last step", () => {
    const { line } = sparkPaths({ steps: [0, 5, 10], values: [0, 0.5, 1] }, undefined, FRAME);
    expect(line).toBe("M0 20L50 10L100 0");
  });

  it("keeps its scale while rewards are between 0 and 1, and widens it beyond", () => {
    expect(sparkPaths({ steps: [0, 10], values: [0, 0.5] }, undefined, FRAME).line).toBe("M0 20L100 10");
    expect(sparkPaths({ steps: [0, 10], values: [0, 2] }, undefined, FRAME).line).toBe("M0 20L100 0");
  });

  it("leaves steps to come empty", () => {
    expect(sparkPaths({ steps: [0, 5], values: [1, 1] }, undefined, FRAME).line).toBe("M0 0L50 0");
  });

  it("breaks the line where nothing was measured", () => {
    const { line } = sparkPaths({ steps: [0, 1, 2, 3], values: [1, null, 1, 1] }, undefined, FRAME);
    expect(line).toBe("M0 0M20 0L30 0");
  });

  it("puts negative rewards below 0, and held-out dots on the same scale", () => {
    const { line, dots } = sparkPaths(
      { steps: [0, 10], values: [-1, 1] },
      { steps: [0, 10], values: [0, null] },
      FRAME,
    );
    expect(line).toBe("M0 20L100 0");
    expect(dots).toEqual([[0, 10]]);
  });

  it("draws nothing of nothing", () => {
    expect(sparkPaths(undefined, undefined, FRAME)).toEqual({ line: "", dots: [] });
  });
});
