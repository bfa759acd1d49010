import type { Job } from "@/api/jobs";

const ENDS: Partial<Record<Job["status"], string>> = {
  succeeded: "✓",
  failed: "✗ failed",
  cancelled: "cancelled",
  paused: "paused",
};

/** The tab's title: how far the job is, or how it ended, before its name. */
export function tabTitle(job: Pick<Job, "name" | "status" | "progress">, step: number): string {
  const { steps } = job.progress;
  const end = ENDS[job.status];
  if (end) return `${end} · ${job.name}`;
  if (step === 0) return `${job.status} · ${job.name}`;
  return `${Math.floor((100 * step) / Math.max(1, steps))}% · ${job.name}`;
}
