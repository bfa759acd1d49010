import { describe, expect, it } from "vitest";
import type { Finding } from "@/api/jobs";
import { marksByMetric, marksOn, marksSentence } from "./finding-marks";

const finding = (title: string, step: number, metrics: string[], more: Partial<Finding> = {}) =>
  ({
    title,
    step,
    severity: "error",
    resolved_step: null,
    evidence: { charts: metrics.map((metric) => ({ metric, from_step: 0, to_step: 9 })) },
    ...more,
  }) as Finding;

describe("marks of findings", () => {
  const marks = marksByMetric([
    finding("Truncated", 8, ["length", "reward"], { severity: "warning" }),
    finding("Reward follows length", 2, ["length"]),
    finding("Slow", 4, [], { severity: "info" }),
    finding("Gone", 1, ["length"], { resolved_step: 5 }),
  ]);

  it("belong to the charts of their evidence, while they are open", () => {
    expect(marks.get("length")).toEqual([
      { step: 2, title: "Reward follows length", color: "bad" },
      { step: 8, title: "Truncated", color: "warn" },
    ]);
    expect(marks.get("entropy")).toBeUndefined();
    expect(marks.get("reward/mean")).toEqual([{ step: 4, title: "Slow", color: "ink3" }]);
  });

  it("are drawn once in a chart of several lines", () => {
    expect(marksOn(["reward", "length", "entropy"], marks).map(({ title }) => title)).toEqual([
      "Truncated",
      "Reward follows length",
    ]);
  });

  it("are part of the chart's sentence", () => {
    expect(marksSentence(marksOn(["reward"], marks))).toBe(" Since step 8: Truncated.");
  });
});
