import type { Delivery, WebhookEvent } from "@/api/webhooks";

export const EVENTS: Record<WebhookEvent, string> = {
  "fine_tuning.job.running": "a job starts or resumes",
  "fine_tuning.job.paused": "a job pauses",
  "fine_tuning.job.succeeded": "a job succeeds",
  "fine_tuning.job.failed": "a job fails",
  "fine_tuning.job.cancelled": "a job is cancelled",
  "fine_tuning.job.finding": "a job has a new finding",
  "evaluation.succeeded": "an evaluation succeeds",
  "evaluation.failed": "an evaluation fails",
};

export const ALL_EVENTS = Object.keys(EVENTS) as WebhookEvent[];

/** `all events`, `2 of 8 events`, or the one there is. */
export function eventWords(events: readonly string[]): string {
  if (events.length === 0 || events.length === ALL_EVENTS.length) return "all events";
  return events.length === 1 ? String(events[0]) : `${events.length} of ${ALL_EVENTS.length} events`;
}

/** Why nothing is sent, or that it is. */
export function stateWords({
  enabled,
  disabled_reason: why,
}: {
  enabled: boolean;
  disabled_reason?: string | null;
}) {
  if (enabled) return "enabled";
  return why === "gone" ? "disabled: the receiver returned 410" : "disabled";
}

/** `delivered`, `failed after 9 attempts`, `retrying, 2 attempts so far`. */
export function deliveryWords({ state, tries }: Pick<Delivery, "state" | "tries">): string {
  const many = tries === 1 ? "1 attempt" : `${tries} attempts`;
  if (state === "delivered") return tries > 1 ? `delivered at attempt ${tries}` : "delivered";
  if (state === "failed") return `failed after ${many}`;
  return tries === 0 ? "pending" : `retrying, ${many} so far`;
}
