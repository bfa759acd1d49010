import type { Metrics, Series } from "@/api/jobs";
import { type Axis, type AxisKind, axisFrom } from "@/components/chart/axis";
import { lowerBound } from "@/components/chart/model";
import type { Range } from "@/components/chart/zoom";

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

/** A series with the points of a range as finely as they were measured, and buckets around them. */
function refined(coarse: Series, fine: Series | undefined, [from, to]: Range): Series {
  if (!coarse.minima || !fine || fine.steps.length === 0) return coarse;
  const [start, end] = [lowerBound(coarse.steps, from), lowerBound(coarse.steps, to + 1)];
  const [first, last] = [lowerBound(fine.steps, from), lowerBound(fine.steps, to + 1)];
  // The bucket that ends after the range begins inside it, which its own points show better.
  const join = <T>(around: readonly T[], inside: readonly T[]) => [
    ...around.slice(0, start),
    ...inside.slice(first, last),
    ...around.slice(end),
  ];
  return {
    ...coarse,
    steps: join(coarse.steps, fine.steps),
    values: join(coarse.values, fine.values),
    ts: join(coarse.ts, fine.ts),
    minima: join(coarse.minima, fine.minima ?? fine.values),
    maxima: join(coarse.maxima ?? coarse.values, fine.maxima ?? fine.values),
  };
}

/** All series, in `range` at the fidelity of `fine`. */
export function zoomedMap(series: SeriesMap, fine: Metrics | undefined, range: Range | null): SeriesMap {
  if (!fine || !range) return series;
  const finer = seriesMap(fine);
  return new Map([...series].map(([key, one]) => [key, refined(one, finer.get(key), range)]));
}

/** The x axis of a job. Time counts from its start (pauses included), tokens are those trained on. */
export function axisOf(kind: AxisKind, series: SeriesMap, startedAt: string | null | undefined): Axis {
  const train = pick(series, "reward/mean");
  if (kind === "step" || !train) return axisFrom("step", []);
  if (kind === "tokens") {
    const tokens = pick(series, "tokens/trained");
    const knots = (tokens?.steps ?? []).flatMap((step, i): [number, number][] => {
      const value = tokens?.values[i];
      return value === null || value === undefined ? [] : [[step, value]];
    });
    return axisFrom(kind, knots.length > 0 ? [[0, 0], ...knots] : []);
  }
  const before = pick(series, "held_out/reward_mean");
  const first = before?.steps[0] === 0 ? before.ts[0] : undefined;
  const start = startedAt ? Date.parse(startedAt) / 1000 : (first ?? train.ts[0] ?? 0);
  const knots = train.steps.map((step, i): [number, number] => [step, (train.ts[i] ?? start) - start]);
  return axisFrom(kind, [[0, first === undefined ? 0 : first - start], ...knots]);
}
