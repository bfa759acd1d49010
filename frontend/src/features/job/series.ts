import type { Metrics, Series } from "@/api/jobs";

export type SeriesMap = ReadonlyMap<string, Series>;

const name = (key: string, kind: Series["kind"]) => `${kind} ${key}`;

export function seriesMap(metrics: Metrics | undefined): SeriesMap {
  return new Map(metrics?.series.map((series) => [name(series.key, series.kind), series]));
}

/** The series of a metric; keys under `held_out/` are measured by evaluations, all others by training steps. */
export function pick(series: SeriesMap, key: string): Series | undefined {
  return series.get(name(key, key.startsWith("held_out/") ? "held_out" : "train"));
}

/** The last training step with metrics. */
export function lastStep(series: SeriesMap): number {
  return pick(series, "reward/mean")?.steps.at(-1) ?? 0;
}

/** When the training steps ended, unix seconds. */
export function stepEnds(series: SeriesMap): readonly number[] {
  return pick(series, "reward/mean")?.ts ?? [];
}
