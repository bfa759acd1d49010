import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type JobComparison = Schemas["JobComparison"];
export type ComparedJob = Schemas["ComparedJob"];
export type ComparedGroup = Schemas["ComparedGroup"];
export type JobSpread = Schemas["JobSpread"];
export type HeldOutEstimate = Schemas["HeldOutEstimate"];
export type ComparedCurve = Schemas["ComparedCurve"];
export type MetricCurves = Schemas["MetricCurves"];
export type ComparedPrompt = Schemas["ComparedPrompt"];
export type PromptSamples = Schemas["PromptSamples"];
export type Moment = "last" | "best";
/** Value of `group` that puts jobs together that differ in their seed only. */
export const SEEDS = "seeds";
export type ComparedSplit = "held_out" | "train";
export type ComparedSort = "-difference" | "difference" | "-reward" | "reward";

const MOVING = 10_000;
/** Keys that one request may name. */
const MOST_KEYS = 20;

/** Jobs beside the first of them, as the server compares them; again every 10 s while one runs. */
export const comparisonQuery = (jobs: readonly string[], at: Moment, group?: string) =>
  queryOptions({
    queryKey: ["jobs", "comparison", at, group, ...jobs],
    queryFn: () => unwrap(http.GET("/api/v1/compare", { params: { query: { job: [...jobs], at, group } } })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.jobs.some((job) => job.seconds === null && job.status === "running") ? MOVING : false,
  });

type CurveChoice = {
  jobs: readonly string[];
  keys: readonly string[];
  group: string | undefined;
  buckets: number;
  /** One of the jobs runs. */
  live: boolean;
};

/** Curves of metrics, of each job or group. */
export const curvesQuery = ({ jobs, keys, group, buckets, live }: CurveChoice) =>
  queryOptions({
    queryKey: ["jobs", "compared curves", group, buckets, keys, ...jobs],
    queryFn: async () => {
      const parts: string[][] = [];
      for (let at = 0; at < keys.length; at += MOST_KEYS) parts.push(keys.slice(at, at + MOST_KEYS));
      const answers = await Promise.all(
        parts.map((key) =>
          unwrap(
            http.GET("/api/v1/compare/curves", {
              params: { query: { job: [...jobs], key, group, buckets } },
            }),
          ),
        ),
      );
      return answers.flatMap(({ data }) => data);
    },
    enabled: keys.length > 0,
    staleTime: MOVING,
    placeholderData: keepPreviousData,
    refetchInterval: live ? MOVING : false,
  });

type PromptChoice = {
  jobs: readonly string[];
  at: Moment;
  split: ComparedSplit;
  sort: ComparedSort;
  q: string | undefined;
};

/** Prompts that the jobs share. */
export const comparedPromptsQuery = ({ jobs, ...query }: PromptChoice) =>
  infiniteQueryOptions({
    queryKey: ["jobs", "compared prompts", query, ...jobs],
    queryFn: ({ pageParam }) =>
      unwrap(
        http.GET("/api/v1/compare/prompts", {
          params: { query: { ...query, job: [...jobs], after: pageParam, limit: 20 } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    staleTime: MOVING,
    placeholderData: keepPreviousData,
  });

/** Completions of one prompt, job by job. */
export const comparedCompletionsQuery = (
  jobs: readonly string[],
  prompt_hash: string,
  at: Moment,
  split: ComparedSplit,
) =>
  queryOptions({
    queryKey: ["jobs", "compared completions", at, split, prompt_hash, ...jobs],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/compare/completions", {
          params: { query: { job: [...jobs], prompt_hash, at, split } },
        }),
      ),
    staleTime: MOVING,
    placeholderData: keepPreviousData,
  });
