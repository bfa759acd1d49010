import type { Job } from "@/api/jobs";
import type { Phase } from "@/api/live";
import { estimate } from "@/lib/eta";
import { duration, range, roughly } from "@/lib/format";
import { latest } from "@/lib/sentence";
import { lastStep, pick, type SeriesMap, stepEnds } from "./series";

const PHASES: Record<string, string> = {
  loading: "loading the model",
  starting_engine: "starting vLLM",
  evaluating: "evaluating on held-out rows",
  generating: "sampling completions",
  scoring: "scoring completions",
  updating: "updating the policy",
  saving: "saving a checkpoint",
};

/** What the job is doing now, in words. */
export function doing(job: Job, phase: Phase | undefined): string | null {
  switch (job.status) {
    case "validating":
      return "checking the dataset, the rewards and the model";
    case "queued":
      return job.attempt > 1 ? "waiting for a worker to continue" : "waiting for a worker";
    case "starting":
      return "a worker is starting the trainer";
    case "cancelling":
      return "stopping after this step";
    case "pausing":
      return "pausing after this step";
    case "running": {
      const name = phase?.phase ?? job.progress.phase ?? null;
      const part = phase?.done != null && phase.total ? ` (${phase.done} of ${phase.total})` : "";
      return name === null ? null : (PHASES[name] ?? name) + part;
    }
    default:
      return null;
  }
}

/** Where the times of the last step went: "generate 0.41 s, score 0.02 s, update 0.28 s". */
export function stepTimes(series: SeriesMap): string | null {
  const parts = ["generate", "score", "update"].flatMap((part) => {
    const time = latest(pick(series, `time/${part}`));
    return time ? [`${part} ${duration(time.value)}`] : [];
  });
  return parts.length > 0 ? parts.join(", ") : null;
}

/** Time left as "about 20 s left (16–27 s)", or what the finished job took. */
export function timeLine(job: Job, series: SeriesMap): string {
  if (job.finished_at) {
    if (!job.started_at) return "never started";
    return `took ${duration((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)}`;
  }
  if (job.status !== "running") return "";
  const { eta_seconds: middle, eta_low_seconds: low, eta_high_seconds: high, steps } = job.progress;
  const seconds = middle != null ? { middle, low: low ?? middle, high: high ?? middle } : null;
  const left = estimate(stepEnds(series), steps - lastStep(series)) ?? seconds;
  if (!left) return "time left: available after a few steps";
  const text = roughly(left.middle);
  const between = range(left.low, left.high);
  return `about ${text} left${between === text ? "" : ` (${between})`}`;
}
