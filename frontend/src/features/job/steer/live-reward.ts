import type { JobChange } from "@/api/job-changes";
import { revisionOf } from "../overview/change-words";

/** A reward of the job that is stored, so that another revision can take its place. */
export type LiveReward = { name: string; stored: string; revision: number };

type Used = { name?: string | null; reward?: string | null; revision?: number | null };

/** What scores now, or from the next step on: as the job began, and as it was changed since. */
export function liveRewards(
  spec: { readonly rewards?: unknown } | null | undefined,
  changes: readonly JobChange[],
): LiveReward[] {
  const used = Array.isArray(spec?.rewards) ? (spec.rewards as Used[]) : [];
  return used.flatMap(({ name, reward, revision }) => {
    if (!reward) return [];
    const called = name ?? "reward";
    const last = changes.findLast((one) => one.reward === called && one.revision);
    const now = revisionOf(last?.revision ?? "");
    return [{ name: called, stored: now?.reward ?? reward, revision: now?.revision ?? revision ?? 1 }];
  });
}
