import type { Job } from "@/api/jobs";

export type Member = { job: Job; depth: number };

/** A family as the lines of a tree: each job before its forks, forks by the step that they begin at. */
export function treeLines(jobs: readonly Job[]): Member[] {
  const ids = new Set(jobs.map((job) => job.id));
  const childrenOf = (id: string | null) =>
    jobs
      .filter(({ forked_from: from }) => (from && ids.has(from.job) ? from.job : null) === id)
      .sort((a, b) => (a.forked_from?.step ?? 0) - (b.forked_from?.step ?? 0));
  const lines = (id: string | null, depth: number): Member[] =>
    childrenOf(id).flatMap((job) => [{ job, depth }, ...lines(job.id, depth + 1)]);
  return lines(null, 0);
}

const WORDS: Record<string, string> = {
  weights: "weights",
  optimizer: "optimizer",
  algorithm: "algorithm state",
  critic: "critic",
  reference: "reference",
  order: "prompt order",
};

/** "weights, optimizer and prompt order". */
export function carriedWords(carried: readonly string[]): string {
  const words = carried.map((one) => WORDS[one] ?? one);
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Labels of curves: names; equal ones get the end of the id. */
export function labels(jobs: readonly Job[]): Map<string, string> {
  const often = new Map<string, number>();
  for (const { name } of jobs) often.set(name, (often.get(name) ?? 0) + 1);
  return new Map(
    jobs.map(({ id, name }) => [id, (often.get(name) ?? 0) > 1 ? `${name} · ${id.slice(-6)}` : name]),
  );
}
