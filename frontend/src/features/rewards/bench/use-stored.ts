import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type CompletionGroup, groupQuery, groupsQuery } from "@/api/completions";
import { jobsQuery } from "@/api/jobs";
import type { Message } from "@/lib/prompt";
import { type BenchCompletion, type Case, readStored } from "./bench";

/** Groups of a step that are tried at once. */
export const MOST_GROUPS = 4;

/** One group of a job as a row of the bench. */
function caseOf(job: string, group: CompletionGroup): Case {
  const messages = (group.prompt_messages ?? []) as Message[];
  return {
    key: `${job}/${group.step}/${group.prompt_no}`,
    row: group.row_index,
    item: group.item ?? {},
    prompt: messages.length > 0 ? messages : [{ role: "user", content: group.prompt }],
    completions: group.completions.map(({ text }): BenchCompletion => ({ text, from: "stored", done: true })),
  };
}

/** Completions of a job's step, to be scored by the current source. */
export function useStored(on: boolean, rows: string | undefined) {
  const source = readStored(rows);
  const jobs = useInfiniteQuery({ ...jobsQuery(), enabled: on, refetchInterval: false });
  const loadedJobs = jobs.data?.pages.flatMap((page) => page.data) ?? [];
  const job = source?.job ?? loadedJobs[0]?.id;
  const heads = useQuery({ ...groupsQuery(job ?? "", "train", source?.step), enabled: on && !!job });
  const step = heads.data?.step ?? undefined;
  const groupHeads = step === undefined ? [] : (heads.data?.data ?? []).slice(0, MOST_GROUPS);
  const groups = useQueries({
    queries: groupHeads.map(({ prompt_no }) =>
      groupQuery(job ?? "", { split: "train", step: step ?? 0, prompt_no }),
    ),
  });
  const [changed, setChanged] = useState<Record<string, BenchCompletion[]>>({});
  const cases = groups.flatMap(({ data, isPlaceholderData }) => {
    if (!data || isPlaceholderData || !job) return [];
    const one = caseOf(job, data as CompletionGroup);
    return [{ ...one, completions: changed[one.key] ?? one.completions }];
  });
  const change = (key: string, edit: (old: BenchCompletion[]) => BenchCompletion[]) => {
    const now = cases.find((one) => one.key === key)?.completions ?? [];
    setChanged((old) => ({ ...old, [key]: edit(old[key] ?? now) }));
  };
  return {
    on,
    jobs: loadedJobs,
    job,
    step,
    steps: heads.data?.steps ?? [],
    cases,
    change,
    error: jobs.error ?? heads.error ?? groups.find(({ error }) => error)?.error ?? null,
    loading: on && (jobs.isPending || (!!job && heads.isPending) || cases.length < groupHeads.length),
  };
}
