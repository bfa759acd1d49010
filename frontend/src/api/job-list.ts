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

export type JobFilter = { state?: StateFilter; q?: string };

const PAGE = 50;
const MOVING = 3_000;
const RESTING = 15_000;

/** Jobs, newest first; polled while one of them is active. */
export const jobListQuery = ({ state, q }: JobFilter = {}, limit = PAGE) =>
  infiniteQueryOptions({
    queryKey: [...jobKeys.list, "filtered", state ?? "all", q ?? "", limit],
    queryFn: ({ pageParam }) =>
      unwrap(
        http.GET("/api/v1/jobs", {
          params: { query: { limit, after: pageParam, status: state && MEMBERS[state], q } },
        }),
      ),
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
