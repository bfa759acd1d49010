import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { groupsQuery } from "@/api/completions";
import { judge } from "./groups";
import type { Place } from "./place";
import { indexOfStep, nearest, newerThan } from "./steps";

/** Newest step at the time of opening: what a person reads stays while the job goes on. */
function useHeldStep(key: string, newest: number | undefined) {
  const [held, setHeld] = useState<{ key: string; step: number }>();
  if (newest !== undefined && held?.key !== key) setHeld({ key, step: newest });
  return { step: held?.key === key ? held.step : undefined, release: () => setHeld(undefined) };
}

/** The step on screen: its groups, and all steps there are. */
export function useStep(job: string, live: boolean, place: Pick<Place, "split" | "step" | "follow">) {
  const { split } = place;
  const newest = useQuery({ ...groupsQuery(job, split), enabled: live || place.step === undefined });
  const current = newest.isPlaceholderData ? undefined : newest.data;
  const holds = live && place.step === undefined && !place.follow;
  const held = useHeldStep(`${job} ${split}`, holds ? (current?.step ?? undefined) : undefined);
  const step = place.step ?? (place.follow ? undefined : held.step);
  // A picked step is fetched once; the job's progress does not change it.
  const first = current?.step === step ? current : undefined;
  const pageQuery = useQuery({ ...groupsQuery(job, split, step), ...(first && { initialData: first }) });
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
    /** New steps are shown as they come. */
    following: step === undefined,
    /** Steps that came after the one on screen. */
    newer: shownStep === undefined ? 0 : newerThan(steps, shownStep),
    /** The newest step may be shown again. */
    release: held.release,
    /** The requested step does not exist (any more); `shown` is the nearest. */
    missing: instead === undefined ? undefined : step,
    isEmpty: page !== undefined && steps.length === 0,
    isStale: list.isPlaceholderData,
    query: list,
  };
}

export type StepView = ReturnType<typeof useStep>;
