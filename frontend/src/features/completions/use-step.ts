import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { groupsQuery } from "@/api/completions";
import { judge } from "./groups";
import type { Place } from "./place";
import { indexOfStep, nearest } from "./steps";

/** The step on screen: its groups, and all steps there are. */
export function useStep(job: string, live: boolean, { split, step }: Pick<Place, "split" | "step">) {
  const pageQuery = useQuery(groupsQuery(job, split, step));
  // A picked step is fetched once; the job's progress does not change it.
  const newest = useQuery({ ...groupsQuery(job, split), enabled: live && step !== undefined });
  const latest = newest.data ?? pageQuery.data;
  const steps = useMemo(() => latest?.steps ?? [], [latest]);
  // Told by the answer about this very step: what is known of the newest may be older than it.
  const stepsOfPage = pageQuery.isPlaceholderData ? undefined : pageQuery.data?.steps;
  const gone = step !== undefined && stepsOfPage !== undefined && indexOfStep(stepsOfPage, step) < 0;
  const instead = gone ? nearest(stepsOfPage, step) : undefined;
  const list = useQuery(groupsQuery(job, split, instead ?? step));
  const page = list.data;
  const groups = useMemo(() => (page?.data ?? []).map(judge), [page]);
  const shownStep = page?.step ?? undefined;
  return {
    groups,
    steps,
    /** The step whose groups these are. */
    shownStep,
    /** The requested step; it is displayed once its groups have loaded. Next and previous count from here. */
    at: step !== undefined && indexOfStep(steps, step) >= 0 ? step : shownStep,
    following: step === undefined,
    /** The requested step does not exist (any more); `shown` is the nearest. */
    missing: instead === undefined ? undefined : step,
    isEmpty: page !== undefined && steps.length === 0,
    isStale: list.isPlaceholderData,
    query: list,
  };
}

export type StepView = ReturnType<typeof useStep>;
