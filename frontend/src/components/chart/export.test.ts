import { describe, expect, it } from "vitest";
import { fileName, toCsv } from "./export";
import { drawingOf } from "./model";

const lines = [
  {
    label: "train, mean",
    color: "c1" as const,
    source: { steps: [1, 2, 3], values: [0.123456789, null, 1] },
  },
  { label: "held-out", color: "c2" as const, sparse: true, source: { steps: [2], values: [0.5] } },
];

describe("toCsv", () => {
  it("has what is on the screen at full precision, holes empty", () => {
    expect(toCsv(drawingOf({ lines }), null)).toBe(
      'step,"train, mean",held-out\n1,0.123456789,\n2,,0.5\n3,1,\n',
    );
  });

  it("leaves out hidden lines and steps outside the range, and names the other axis", () => {
    const drawing = drawingOf({ lines, hidden: new Set(["held-out"]) });
    const x = { name: "seconds", places: [10, 20, 30] };
    expect(toCsv(drawing, [2, 3], x)).toBe('step,seconds,"train, mean"\n2,20,\n3,30,1\n');
  });

  it("has no name that a spreadsheet would run", () => {
    const names = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)"];
    const named = names.map((label) => ({
      label,
      color: "c1" as const,
      source: { steps: [1], values: [-2] },
    }));
    expect(toCsv(drawingOf({ lines: named }), null)).toBe(
      "step,'=HYPERLINK(1),'+1,'-1,'@SUM(A1)\n1,-2,-2,-2,-2\n",
    );
  });

  it("tells smoothed from measured", () => {
    const [head] = toCsv(drawingOf({ lines, smoothing: 0.5 }), null).split("\n");
    expect(head).toBe('step,"train, mean","train, mean, smoothed",held-out');
  });
});

describe("fileName", () => {
  it("keeps letters and digits of any script", () => {
    expect(fileName("Größe / ../x", "Reward “a”")).toBe("größe-x-reward-a");
  });
});
