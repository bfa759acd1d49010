import { describe, expect, it } from "vitest";
import type { Metrics } from "@/api/jobs";
import { axisOf, pick, seriesMap, zoomedMap } from "./series";

const series = (key: string, steps: number[], values: number[], more = {}) => ({
  key,
  kind: key.startsWith("held_out/") ? ("held_out" as const) : ("train" as const),
  steps,
  values,
  ts: steps.map((step) => 1000 + step * 2),
  ...more,
});
const metrics = (...all: ReturnType<typeof series>[]): Metrics => ({
  object: "metrics",
  job: "ftjob-a",
  seq: 1,
  series: all,
});

describe("zoomedMap", () => {
  const coarse = seriesMap(
    metrics(
      series("reward/mean", [2, 4, 6, 8], [2, 4, 6, 8], { minima: [1, 3, 5, 7], maxima: [2, 4, 6, 8] }),
    ),
  );
  const fine = metrics(series("reward/mean", [3, 4, 5, 6], [3, 4, 5, 6]));

  it("shows the range as measured and the buckets around it", () => {
    const one = pick(zoomedMap(coarse, fine, [3, 6]), "reward/mean");
    expect(one?.steps).toEqual([2, 3, 4, 5, 6, 8]);
    expect(one?.values).toEqual([2, 3, 4, 5, 6, 8]);
    expect(one?.minima).toEqual([1, 3, 4, 5, 6, 7]);
  });

  it("has live points that the range did not know, once", () => {
    const wide = zoomedMap(coarse, fine, [3, 7]);
    expect(pick(wide, "reward/mean")?.steps).toEqual([2, 3, 4, 5, 6, 8]);
  });

  it("changes nothing for curves that are whole, or while the range is on its way", () => {
    const whole = seriesMap(metrics(series("reward/mean", [1, 2], [1, 2])));
    expect(pick(zoomedMap(whole, fine, [1, 2]), "reward/mean")).toBe(pick(whole, "reward/mean"));
    expect(zoomedMap(coarse, undefined, [3, 6])).toBe(coarse);
  });
});

describe("axisOf", () => {
  const map = seriesMap(
    metrics(
      series("reward/mean", [1, 2], [0, 1]),
      series("tokens/trained", [1, 2], [500, 1200]),
      series("held_out/reward_mean", [0], [0.4]),
    ),
  );

  it("counts seconds from the start of the job", () => {
    const axis = axisOf("time", map, new Date(990_000).toISOString());
    expect([0, 1, 2].map(axis.at)).toEqual([10, 12, 14]);
  });

  it("counts tokens from none", () => {
    expect([0, 1, 2].map(axisOf("tokens", map, null).at)).toEqual([0, 500, 1200]);
  });

  it("is steps while nothing is measured", () => {
    expect(axisOf("tokens", seriesMap(undefined), null).kind).toBe("step");
  });
});
