import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { jobKeys } from "./jobs";
import type { paths } from "./schema.gen";

export type CompletionRow = Schemas["CompletionRow"];
export type CompletionHit = Schemas["CompletionHit"];
export type GroupHead = Schemas["GroupHead"];
/** Without the traces that no screen shows. */
export type RewardResult = Omit<Schemas["RewardResult"], "steps" | "turns" | "candidates" | "criteria">;
export type Completion = Omit<Schemas["Completion"], "rewards"> & { rewards?: RewardResult[] };
export type CompletionGroup = Omit<Schemas["CompletionGroup"], "completions"> & { completions: Completion[] };
export type Split = CompletionRow["split"];

/** Names one prompt of one step. */
export type GroupPlace = { split: Split; step: number; prompt_no: number };
/** Names one completion. */
export type CompletionPlace = GroupPlace & { sample_no: number };

/** What a search may ask for, as the server takes it. */
export type CompletionSearch = NonNullable<
  paths["/api/v1/jobs/{id}/completions/search"]["get"]["parameters"]["query"]
>;

/** A past step changes only by a rewind, which drops it from the cache. */
const SETTLED_MS = 60_000;

/** What was on screen stays until the new arrives, as long as it is of the same job. */
const keepWithin =
  (id: string) =>
  <T>(old: T | undefined, query?: { queryKey: readonly unknown[] }) =>
    query?.queryKey[2] === id ? old : undefined;

/** The prompts of one step with their rewards; without a step those of the newest, kept up to date by the stream. */
export const groupsQuery = (id: string, split: Split, step?: number) =>
  queryOptions({
    queryKey: [...jobKeys.completions(id), split, step ?? "newest"],
    queryFn: () =>
      unwrap(http.GET("/api/v1/jobs/{id}/groups", { params: { path: { id }, query: { split, step } } })),
    placeholderData: keepWithin(id),
    staleTime: step === undefined ? 0 : SETTLED_MS,
  });

/** One group in full, without tokens. */
export const groupQuery = (id: string, { split, step, prompt_no }: GroupPlace) =>
  queryOptions({
    queryKey: [...jobKeys.completions(id), "group", split, step, prompt_no],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/groups/{split}/{step}/{prompt_no}", {
          params: { path: { id, split, step, prompt_no } },
        }),
      ),
    placeholderData: keepWithin(id),
    staleTime: SETTLED_MS,
  });

/** One completion with its tokens. */
export const completionQuery = (id: string, { split, step, prompt_no, sample_no }: CompletionPlace) =>
  queryOptions({
    queryKey: [...jobKeys.completions(id), "one", split, step, prompt_no, sample_no],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/completions/{split}/{step}/{prompt_no}/{sample_no}", {
          params: { path: { id, split, step, prompt_no, sample_no } },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Names of the tools that the job's policy has called. */
export const toolNamesQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobKeys.completions(id), "tools"],
    queryFn: async () => {
      const query = { buckets: 2 };
      const metrics = await unwrap(
        http.GET("/api/v1/jobs/{id}/metrics", { params: { path: { id }, query } }),
      );
      const names = metrics.series.flatMap(({ key }) => /^tools\/(.+)\/calls$/.exec(key)?.[1] ?? []);
      return [...new Set(names)].sort();
    },
    staleTime: SETTLED_MS,
  });

/** Completions of all steps that match, page by page. */
export const searchQuery = (id: string, search: CompletionSearch) =>
  infiniteQueryOptions({
    queryKey: [...jobKeys.completions(id), "search", search],
    queryFn: ({ pageParam }) =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/completions/search", {
          params: { path: { id }, query: { ...search, after: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepWithin(id),
  });
