import type { JobChange } from "@/api/job-changes";
import { valueText } from "@/lib/spec-values";

/** Steps from which something else was at work, each once, in order: where the charts have a mark. */
export const marksOf = (changes: readonly JobChange[]): number[] =>
  [...new Set(changes.flatMap(({ step }) => (step == null ? [] : [step])))].sort((a, b) => a - b);

/** `rew_…@3` → the reward's id and its revision. */
export function revisionOf(label: string): { reward: string; revision: number } | null {
  const [, reward, revision] = /^(.+)@(\d+)$/.exec(label) ?? [];
  return reward && revision ? { reward, revision: Number(revision) } : null;
}

/** "5e-6, before 1e-5" of a changed number. */
export const valueWords = ({ value, before }: Pick<JobChange, "value" | "before">) =>
  `${valueText(value)}, before ${valueText(before)}`;

/** When a change takes effect: "from step 12 on", or before the next step of a job that is under way. */
export const sinceWords = ({ step }: Pick<JobChange, "step">) =>
  step == null ? "from the next step on" : `from step ${step} on`;
