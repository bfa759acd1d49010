import type { JobExport } from "@/api/trackers";

/** What has arrived at the tracker. */
export function exportWords({ state, step, tries }: Pick<JobExport, "state" | "step" | "tries">): string {
  const arrived = step == null ? "nothing sent yet" : `sent to step ${step}`;
  if (state === "done") return "complete";
  if (state === "failed") return `given up, ${arrived}`;
  return tries > 0 ? `retrying, ${arrived}` : arrived;
}
