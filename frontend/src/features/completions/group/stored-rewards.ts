import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type JobDetail, jobQuery } from "@/api/jobs";

/** A reward of a job that is stored in the project: its id there, its name in the job. */
export type StoredReward = { id: string; name: string };

type RewardSpec = { name?: string | null; reward?: string | null };

/** The stored ones among a job's rewards; code that the job brought along has no place to keep a case. */
export function storedRewards(job: Pick<JobDetail, "resolved_spec"> | undefined): StoredReward[] {
  const specs = (job?.resolved_spec?.rewards ?? []) as readonly RewardSpec[];
  return specs.flatMap(({ name, reward }) => (reward ? [{ id: reward, name: name ?? "reward" }] : []));
}

export function useStoredRewards(id: string): StoredReward[] {
  const job = useQuery(jobQuery(id)).data;
  return useMemo(() => storedRewards(job), [job]);
}
