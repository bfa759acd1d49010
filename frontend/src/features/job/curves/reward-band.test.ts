import { describe, expect, it } from "vitest";
import type { Metrics } from "@/api/jobs";
import definitions from "@/lib/fixtures/metrics.json" with { type: "json" };
import { seriesMap } from "../series";
import { chartGroups, type Definitions } from "./charts";
import { bandOf, isBinary } from "./reward-band";

type Series = Metrics["series"][number];
const series = (values: Record<string, (number | null)[]>, more: Partial<Series> = {}) =>
  seriesMap({
    series: Object.entries(values).map(([key, column]) => ({
      key,
      kind: "train",
      steps: column.map((_, i) => i + 1),
      values: column,
      ts: column.map((_, i) => i),
      ...more,
    })),
  } as unknown as Metrics);
const reward = (mean: number[], std: number[]) => ({
  "reward/mean": mean,
  "reward/std": std,
  "reward/p10": mean.map((value) => value - 0.3),
  "reward/p90": mean,
});
const spread = (mean: number) => Math.sqrt(mean * (1 - mean) * (32 / 31));
const BINARY = reward([0.25, 0.5, 1], [spread(0.25), spread(0.5), 0]);
const GROUPS = { "groups/all_right_share": [0, 0.25, 1], "groups/all_wrong_share": [0.5, 0.25, 0] };

describe("isBinary", () => {
  it("knows rewards of 0 and 1 by their spread", () => {
    expect(isBinary(series(BINARY))).toBe(true);
    expect(isBinary(series(reward([1, 1], [0, 0])))).toBe(true);
    // A third each of 0, 0.5 and 1.
    expect(isBinary(series(reward([0.5], [0.415])))).toBe(false);
    // Of −1 and 1, and of 0 and 5.
    expect(isBinary(series(reward([0.5], [0.87])))).toBe(false);
    expect(isBinary(series(reward([2.5], [2.5])))).toBe(false);
    expect(isBinary(series({}))).toBe(false);
  });

  it("allows for points that combine several steps", () => {
    const combined = { minima: [0, 0], maxima: [1, 1] };
    const less = reward([0.25, 0.5], [0.97 * spread(0.25), 0.97 * spread(0.5)]);
    expect([isBinary(series(less)), isBinary(series(less, combined))]).toEqual([false, true]);
  });
});

describe("the band of the reward", () => {
  const def = chartGroups([], definitions as Definitions)[0]?.charts[0];

  it("is of groups where percentiles would jump between 0 and 1", () => {
    const band = def && bandOf(def, series({ ...BINARY, ...GROUPS }));
    expect(band).toMatchObject({ label: "mixed groups" });
    expect(band?.low?.values).toEqual([0, 0.25, 1]);
    expect(band?.high?.values).toEqual([0.5, 0.75, 1]);
    expect(band?.say?.(0.25, 0.75)).toBe("50%");
  });

  it("is of percentiles otherwise", () => {
    const graded = series({ ...reward([0.5], [0.2]), ...GROUPS });
    expect(def && bandOf(def, graded)).toMatchObject({ label: "p10–p90", low: { values: [0.2] } });
  });
});
