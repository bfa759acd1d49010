import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { http, unwrap } from "./client";
import { isFinal, type Job, type JobStatus, jobKeys } from "./jobs";

/** What the list of jobs can be narrowed to: a state, or the sets of states that people think in. */
export const STATES = ["unfinished", "succeeded", "failed", "paused", "cancelled"] as const;
export type StateFilter = (typeof STATES)[number];

const MEMBERS: Record<StateFilter, JobStatus[]> = {
  unfinished: ["validating", "queued", "starting", "running", "pausing", "cancelling"],
  succeeded: ["succeeded"],
  failed: ["failed"],
  paused: ["paused"],
  cancelled: ["cancelled"],
};

/** What the list shows; all of it is in the address. */
export type JobFilter = {
  state?: StateFilter;
  q?: string;
  tag?: string;
  model?: string;
  preset?: string;
  owner?: string;
  archived?: "only" | "include";
  /** Such as `-held_out_reward` or `spec.optimizer.learning_rate`. */
  by?: string;
  /** Setting that the rows are grouped by. */
  group?: string;
  /** Names of the columns, with commas; a setting begins with `spec.`. */
  columns?: string;
};

export const SETTING = "spec.";

/** Settings whose values the list needs, as dotted paths. */
export function settingsOf({ columns, group }: JobFilter): string[] {
  const names = (columns?.split(",") ?? []).filter((name) => name.startsWith(SETTING));
  const paths = names.map((name) => name.slice(SETTING.length));
  return [...new Set(group ? [...paths, group] : paths)];
}

const PAGE = 50;
const MOVING = 3_000;
const RESTING = 15_000;

/** Jobs, newest first unless sorted; polled while one of them is active. */
export const jobListQuery = (filter: JobFilter = {}, limit = PAGE) =>
  infiniteQueryOptions({
    queryKey: [...jobKeys.list, "filtered", filter, limit],
    queryFn: ({ pageParam }) => {
      const { state, q, tag, model, preset, owner, archived, group } = filter;
      const query = {
        limit,
        after: pageParam,
        status: state && MEMBERS[state],
        q,
        tag: tag ? [tag] : undefined,
        model,
        preset,
        owner,
        archived,
        sort: group ? `${SETTING}${group}` : filter.by,
        setting: settingsOf(filter),
      };
      return unwrap(http.GET("/api/v1/jobs", { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some((page) => page.data.some((job) => !isFinal(job.status))) ? MOVING : RESTING,
  });

const BUCKETS = 60;
const TRAIN = "reward/mean";
const HELD_OUT = "held_out/reward_mean";

/** The reward of a job in a few buckets, for a picture as wide as a word. Fixed once the job is over. */
export const sparkQuery = ({ id, status, progress }: Job) =>
  queryOptions({
    queryKey: ["jobs", "spark", id, isFinal(status) ? status : progress.step],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/metrics", {
          params: { path: { id }, query: { buckets: BUCKETS, key: [TRAIN, HELD_OUT] } },
        }),
      ),
    select: ({ series }) => ({
      train: series.find((one) => one.key === TRAIN),
      heldOut: series.find((one) => one.key === HELD_OUT),
    }),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

/** Tags, models, presets and owners that jobs of the project have. */
export const jobFacetsQuery = queryOptions({
  queryKey: [...jobKeys.list, "facets"],
  queryFn: () => unwrap(http.GET("/api/v1/job-facets")),
  staleTime: 30_000,
});
