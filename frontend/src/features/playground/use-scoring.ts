import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JobDetail } from "@/api/jobs";
import { rewardsQuery } from "@/api/rewards";
import type { JsonObject } from "@/lib/paths";
import { rewardOf } from "./talk";

/** The reward that scores answers: the job's until another one is chosen; "" for none. */
export function useScoring(job: JobDetail | undefined) {
  const rewards = useQuery(rewardsQuery).data?.data.filter((one) => one.granularity === "sample") ?? [];
  const [choice, setChoice] = useState<string | null>(null);
  const ofJob = rewardOf((job?.resolved_spec ?? job?.spec ?? {}) as JsonObject, rewards);
  const reward = choice ?? ofJob;
  const options = [
    { value: "", label: rewards.length > 0 ? "None" : "No reward yet" },
    ...rewards.map(({ id, name }) => ({
      value: id,
      label: id === ofJob ? `${name} (reward of the job)` : name,
    })),
  ];
  return { reward, options, choose: setChoice };
}

export type Scoring = ReturnType<typeof useScoring>;
