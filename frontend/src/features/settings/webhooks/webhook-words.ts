import type { Delivery, WebhookEvent } from "@/api/webhooks";

export const EVENTS: Record<WebhookEvent, string> = {
  "fine_tuning.job.running": "a job starts or goes on",
  "fine_tuning.job.paused": "a job is paused",
  "fine_tuning.job.succeeded": "a job ends well",
  "fine_tuning.job.failed": "a job fails",
  "fine_tuning.job.cancelled": "a job is cancelled",
  "evaluation.succeeded": "an evaluation ends well",
  "evaluation.failed": "an evaluation fails",
};

export const ALL_EVENTS = Object.keys(EVENTS) as WebhookEvent[];

/** `all events`, `2 of 7 events`, or the one there is. */
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
  if (enabled) return "on";
  return why === "gone" ? "off: the receiver answered 410" : "off";
}

/** `delivered`, `failed after 9 tries`, `waits, 2 tries so far`. */
export function deliveryWords({ state, tries }: Pick<Delivery, "state" | "tries">): string {
  const many = tries === 1 ? "1 try" : `${tries} tries`;
  if (state === "delivered") return tries > 1 ? `delivered at try ${tries}` : "delivered";
  if (state === "failed") return `given up after ${many}`;
  return tries === 0 ? "waits" : `tries again, ${many} so far`;
}
