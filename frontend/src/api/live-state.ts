import type { Schemas } from "./client";

type Series = Schemas["Series"];
type Metrics = Schemas["Metrics"];
type JobEvent = Schemas["JobEvent"];

type MetricsData = {
  step: number;
  kind: "train" | "held_out";
  values: Record<string, number | null>;
  ts: number;
};

/** The columns of a series that run beside `steps`. */
const BESIDE = ["values", "ts", "minima", "maxima"] as const;

/** A copy whose columns may be changed in place. */
function copied(series: Series): Series {
  return {
    ...series,
    steps: [...series.steps],
    values: [...series.values],
    ts: [...series.ts],
    minima: series.minima && [...series.minima],
    maxima: series.maxima && [...series.maxima],
  };
}

/** Puts one point into a copied series: at the end, or in its place when it came out of order; a repeated step wins. */
function put(series: Series, step: number, value: number | null, ts: number): void {
  let at = series.steps.length;
  while (at > 0 && (series.steps[at - 1] as number) >= step) at -= 1;
  const replaced = series.steps[at] === step ? 1 : 0;
  series.steps.splice(at, replaced, step);
  const point = { values: value, ts, minima: value, maxima: value };
  for (const column of BESIDE)
    (series[column] as (number | null)[] | null)?.splice(at, replaced, point[column]);
}

/** Drops every point after a step. Of a bucket that reaches over the step nothing is kept. */
function cut(series: Series, toStep: number): void {
  const firstRemoved = series.steps.findIndex((step) => step > toStep);
  if (firstRemoved < 0) return;
  series.steps.length = firstRemoved;
  for (const column of BESIDE) {
    const cells = series[column];
    if (cells) cells.length = firstRemoved;
  }
}

/**
 * The metrics of a job after a batch of live events.
 *
 * Events at or below the cursor were already applied and are skipped, so a frame that is delivered twice changes
 * nothing; a `rewind` drops every point after its step. Series without a new point keep their identity; the others
 * are copied once per batch, however many points it brings.
 */
export function applyEvents(metrics: Metrics, events: readonly JobEvent[], cursor: number): Metrics {
  const fresh = events.filter((event) => event.seq > metrics.seq).sort((a, b) => a.seq - b.seq);
  const seq = Math.max(metrics.seq, cursor);
  if (fresh.length === 0) return seq === metrics.seq ? metrics : { ...metrics, seq };
  const series = new Map(metrics.series.map((one) => [`${one.kind} ${one.key}`, one]));
  const own = new Set<Series>();
  const writable = (name: string, old: Series): Series => {
    if (own.has(old)) return old;
    const copy = copied(old);
    own.add(copy);
    series.set(name, copy);
    return copy;
  };
  for (const event of fresh) {
    if (event.type === "rewind") {
      const { to_step } = event.data as { to_step: number };
      for (const [name, one] of series) {
        if ((one.steps.at(-1) ?? 0) > to_step) cut(writable(name, one), to_step);
      }
    } else if (event.type === "metrics") {
      const { step, kind, values, ts } = event.data as MetricsData;
      for (const [key, value] of Object.entries(values)) {
        const name = `${kind} ${key}`;
        const old = series.get(name) ?? { key, kind, steps: [], values: [], ts: [] };
        put(writable(name, old), step, value, ts);
      }
    }
  }
  return { ...metrics, seq, series: [...series.values()] };
}

/** Whether the server has put several points of a series into one. */
export function isShortened(metrics: Metrics | undefined): boolean {
  return metrics?.series.some((one) => one.minima != null) ?? false;
}
