import type { Schemas } from "@/api/client";
import { isFinal, type Job } from "@/api/jobs";
import { count } from "@/lib/format";

type Worker = Schemas["WorkerInfo"];
export type WorkerState = { id: string; name: string; state: string; job: Pick<Job, "id" | "name"> | null };

/** What each online trainer does: "vm, cpu" – idle, or the job that it trains. */
export function workerStates(
  workers: readonly Worker[],
  jobs: readonly Pick<Job, "id" | "name" | "progress">[],
): WorkerState[] {
  return workers
    .filter(({ online, kind }) => online && kind === "trainer")
    .map(({ id, hostname, device, job, busy, notice }) => {
      const own = jobs.find((one) => one.id === job);
      const training = own && `step ${own.progress.step} of ${own.progress.steps}`;
      const state = training ?? (job ? "training" : busy ? "busy with another project" : "idle");
      return {
        id,
        name: [hostname, device].filter(Boolean).join(", "),
        state: notice ?? state,
        job: own ? { id: own.id, name: own.name } : null,
      };
    });
}

/** "Jobs: 1 running, 2 waiting."; `unfinished`: jobs of the project that have not ended, when that many are not among `jobs`. */
export function queueLine(jobs: readonly Pick<Job, "status">[], unfinished: number): string {
  const open = jobs.filter(({ status }) => !isFinal(status));
  if (unfinished > open.length) return `${count(unfinished, "unfinished job")}.`;
  const running = open.filter(({ status }) => status === "running").length;
  const paused = open.filter(({ status }) => status === "paused").length;
  const waiting = open.length - running - paused;
  if (open.length === 0) return "No job is running.";
  const states = [
    running > 0 ? `${running} running` : "",
    waiting > 0 ? `${waiting} waiting` : "",
    paused > 0 ? `${paused} paused` : "",
  ]
    .filter(Boolean)
    .join(", ");
  return `${open.length === 1 ? "Job" : "Jobs"}: ${states}.`;
}

export type Outcome = {
  job: Pick<Job, "id" | "name">;
  tone: "ok" | "warn" | "bad" | "info";
  text: string;
  at: string | null | undefined;
};

const TONES = { learned: "ok", no_change: "warn", worse_than_base: "bad", unknown: "info" } as const;

/** Whether the newest jobs that ended or paused have learned, and what the training check found in them. */
export const outcomes = (jobs: readonly Job[], limit: number): Outcome[] =>
  jobs
    .flatMap((job): Outcome[] => {
      const { id, name, verdict_detail: verdict, finished_at: at } = job;
      if (job.status === "failed") return [{ job: { id, name }, tone: "bad", text: "The job failed.", at }];
      if (!verdict) return [];
      const problems = (verdict.problems ?? [])
        .map(({ message }) => message)
        .filter((message) => !verdict.message.toLowerCase().includes(message.toLowerCase()));
      const sentences = problems.map(
        (one) => `${one.charAt(0).toUpperCase()}${one.slice(1).replace(/\.$/, "")}.`,
      );
      const worried = problems.length > 0 && verdict.outcome === "learned";
      return [
        {
          job: { id, name },
          tone: worried ? "warn" : TONES[verdict.outcome],
          text: [verdict.message, ...sentences].join(" "),
          at,
        },
      ];
    })
    .slice(0, limit);
