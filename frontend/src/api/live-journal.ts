import type { Schemas } from "./client";
import { applyEvents } from "./live-state";

type Metrics = Schemas["Metrics"];
type JobEvent = Schemas["JobEvent"];

/** Enough for what arrives while a request is under way, many times over. */
const MOST = 4000;

/**
 * The newest events that touch curves, by job. An answer with metrics may be older than the events that came in while
 * it was on its way; with these it is brought up to date, so that no order of arrival loses or doubles a point.
 */
const journals = new Map<string, JobEvent[]>();

export function startJournal(job: string): void {
  journals.set(job, []);
}

export function record(job: string, events: readonly JobEvent[]): void {
  const journal = journals.get(job) ?? [];
  journal.push(...events.filter((event) => event.type === "metrics" || event.type === "rewind"));
  if (journal.length > MOST) journal.splice(0, journal.length - MOST);
  journals.set(job, journal);
}

/** The metrics with every recorded event that they do not include yet. */
export function caughtUp(metrics: Metrics): Metrics {
  const journal = journals.get(metrics.job);
  const last = journal?.at(-1)?.seq ?? 0;
  return journal && last > metrics.seq ? applyEvents(metrics, journal, last) : metrics;
}
