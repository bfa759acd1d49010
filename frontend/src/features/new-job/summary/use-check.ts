import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { fullCheckQuery, type JobCheck, quickCheckQuery } from "@/api/job-form";
import { getAt, type Json } from "@/lib/paths";
import { type Draft, datasetOf, modelOf, rewardsOf } from "../draft";

const TYPING_MS = 400;
const SETTLED_MS = 1200;

/** The parts that only a worker can judge; a changed learning rate needs no worker. */
function workersPart(spec: Draft): Draft | null {
  if (!modelOf(spec) || !datasetOf(spec) || rewardsOf(spec).length === 0) return null;
  const rollout: Record<string, Json> = {};
  for (const key of ["max_prompt_tokens", "max_completion_tokens"]) {
    const value = getAt(spec, `rollout.${key}`);
    if (value !== undefined) rollout[key] = value;
  }
  // Which rows are held out follows from the seed.
  return { model: spec.model, data: spec.data, rewards: spec.rewards, rollout, seed: spec.seed } as Draft;
}

/**
 * Checks the specification while it is typed: the quick check of everything, and the worker's check of the parts that
 * it is for, once those have settled. Both keep their last answer until the next one is there.
 */
export function useCheck(spec: Draft) {
  const key = JSON.stringify(spec);
  const [typed] = useDebouncedValue(key, TYPING_MS);
  const quick = useQuery(quickCheckQuery(useMemo(() => JSON.parse(typed) as Draft, [typed])));

  const part = JSON.stringify(workersPart(spec));
  const [settled] = useDebouncedValue(part, SETTLED_MS);
  const settledSpec = useMemo(() => JSON.parse(settled) as Draft | null, [settled]);
  const full = useQuery({
    ...fullCheckQuery(settledSpec ?? {}),
    enabled: settledSpec !== null && quick.data !== undefined && !concerns(quick.data),
  });
  const current = settledSpec !== null && settled === part;
  return {
    quick,
    full,
    /** The worker's answer is about what the form says now. */
    complete: current && full.data !== undefined && !full.isPlaceholderData,
    pending: key !== typed || quick.isFetching,
  };
}

/** Whether the quick check already finds fault with what the worker would look at. */
const concerns = (check: JobCheck) =>
  (check.problems ?? []).some(({ param }) => !param || /^(model|data|rewards)/.test(param));
