import type { Schemas } from "./client";
import { applyEvents } from "./live-state";

type Metrics = Schemas["Metrics"];
type JobEvent = Schemas["JobEvent"];

/** Enough for what arrives while a request is under way, many times over. */
const MOST_EVENTS = 4000;

/**
 * The newest events that touch curves, by job. An answer with metrics may be older than the events that came in while
 * it was on its way; with these it is brought up to date, so that no order of arrival loses or doubles a point.
 */
const recentEvents = new Map<string, JobEvent[]>();

export function keepRecentEvents(job: string): void {
  recentEvents.set(job, []);
}

export function recordEvents(job: string, events: readonly JobEvent[]): void {
  const recent = recentEvents.get(job) ?? [];
  recent.push(...events.filter((event) => event.type === "metrics" || event.type === "rewind"));
  if (recent.length > MOST_EVENTS) recent.splice(0, recent.length - MOST_EVENTS);
  recentEvents.set(job, recent);
}

/** The metrics with every recorded event that they do not include yet. */
export function withRecentEvents(metrics: Metrics): Metrics {
  const recent = recentEvents.get(metrics.job);
  const last = recent?.at(-1)?.seq ?? 0;
  return recent && last > metrics.seq ? applyEvents(metrics, recent, last) : metrics;
}
