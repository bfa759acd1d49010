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

/** Puts one point into a series: appended, or in its place when it came out of order; a repeated step wins. */
function withPoint(series: Series, step: number, value: number | null, ts: number): Series {
  let at = series.steps.length;
  while (at > 0 && (series.steps[at - 1] as number) >= step) at -= 1;
  const replaced = series.steps[at] === step ? 1 : 0;
  return {
    ...series,
    steps: series.steps.toSpliced(at, replaced, step),
    values: series.values.toSpliced(at, replaced, value),
    ts: series.ts.toSpliced(at, replaced, ts),
  };
}

function rewound(series: Series, toStep: number): Series {
  const kept = series.steps.findIndex((step) => step > toStep);
  if (kept < 0) return series;
  return {
    ...series,
    steps: series.steps.slice(0, kept),
    values: series.values.slice(0, kept),
    ts: series.ts.slice(0, kept),
  };
}

/**
 * The metrics of a job after a batch of live events.
 *
 * Events at or below the cursor were already applied and are skipped, so a frame that is delivered twice changes
 * nothing; a `rewind` drops every point after its step. Series without a new point keep their identity.
 */
export function applyEvents(metrics: Metrics, events: readonly JobEvent[], cursor: number): Metrics {
  const series = new Map(metrics.series.map((one) => [`${one.kind} ${one.key}`, one]));
  const fresh = events.filter((event) => event.seq > metrics.seq).sort((a, b) => a.seq - b.seq);
  for (const event of fresh) {
    if (event.type === "rewind") {
      const { to_step } = event.data as { to_step: number };
      for (const [name, one] of series) series.set(name, rewound(one, to_step));
    } else if (event.type === "metrics") {
      const { step, kind, values, ts } = event.data as MetricsData;
      for (const [key, value] of Object.entries(values)) {
        const name = `${kind} ${key}`;
        const old = series.get(name) ?? { key, kind, steps: [], values: [], ts: [] };
        series.set(name, withPoint(old, step, value, ts));
      }
    }
  }
  return { ...metrics, seq: Math.max(metrics.seq, cursor), series: [...series.values()] };
}
