import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { groupsQuery } from "@/api/completions";
import { judge } from "./groups";
import type { Place } from "./place";
import { indexOfStep, nearest } from "./steps";

/** The step on screen: its groups, and all steps there are. */
export function useStep(job: string, live: boolean, { split, step }: Pick<Place, "split" | "step">) {
  const asked = useQuery(groupsQuery(job, split, step));
  // A step that a person has picked is asked for once; how far the job has come is not told by it.
  const newest = useQuery({ ...groupsQuery(job, split), enabled: live && step !== undefined });
  const known = newest.data ?? asked.data;
  const steps = useMemo(() => known?.steps ?? [], [known]);
  // Told by the answer about this very step: what is known of the newest may be older than it.
  const told = asked.isPlaceholderData ? undefined : asked.data?.steps;
  const gone = step !== undefined && told !== undefined && indexOfStep(told, step) < 0;
  const instead = gone ? nearest(told, step) : undefined;
  const list = useQuery(groupsQuery(job, split, instead ?? step));
  const page = list.data;
  const groups = useMemo(() => (page?.data ?? []).map(judge), [page]);
  const shown = page?.step ?? undefined;
  return {
    groups,
    steps,
    /** The step whose groups these are. */
    shown,
    /** The step that was asked for; it is shown once its groups are there. From here the next one is counted. */
    at: step !== undefined && indexOfStep(steps, step) >= 0 ? step : shown,
    following: step === undefined,
    /** The step that was asked for does not exist (any more); `shown` is the nearest. */
    missing: instead === undefined ? undefined : step,
    isEmpty: page !== undefined && steps.length === 0,
    isStale: list.isPlaceholderData,
    query: list,
  };
}

export type StepView = ReturnType<typeof useStep>;
