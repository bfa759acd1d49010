import type { Dataset } from "@/api/datasets";
import type { JobDetail } from "@/api/jobs";
import type { RewardSummary } from "@/api/rewards";

export type Step = {
  name: "data" | "reward" | "job" | "evaluate" | "vary" | "deploy";
  done: boolean;
  /** The first that is not done: the one to do now. */
  next: boolean;
};

type Spec = { data?: { dataset?: string; held_out?: string | null }; rewards?: { reward?: string | null }[] };

/**
 * How far a person has come with work of their own: what the demo brought along does not count. `jobs` are the
 * project's, the demo's left out.
 */
export function stepsOf(
  demo: JobDetail | undefined,
  datasets: readonly Pick<Dataset, "id">[],
  rewards: readonly Pick<RewardSummary, "id">[],
  jobs: number,
): Step[] {
  const spec = (demo?.spec ?? {}) as Spec;
  const brought = new Set([
    spec.data?.dataset,
    spec.data?.held_out,
    ...(spec.rewards ?? []).map(({ reward }) => reward),
  ]);
  const own = (things: readonly { id: string }[]) => things.some(({ id }) => !brought.has(id));
  const done = [
    ["data", own(datasets)],
    ["reward", own(rewards)],
    ["job", jobs > 0],
  ] as const;
  const next = done.findIndex(([, is]) => !is);
  return done.map(([name, is], i) => ({ name, done: is, next: i === next }));
}

/** What comes after a first job; empty when all of it is done. */
export function followUps(counts: { jobs: number; evaluations: number; deployments: number }): Step[] {
  const done = [
    ["evaluate", counts.evaluations > 0],
    ["vary", counts.jobs > 1],
    ["deploy", counts.deployments > 0],
  ] as const;
  const next = done.findIndex(([, is]) => !is);
  return next < 0 ? [] : done.map(([name, is], i) => ({ name, done: is, next: i === next }));
}
