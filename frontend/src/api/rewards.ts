import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";

export type RewardSummary = Schemas["RewardSummary"];
export type RewardDetail = Schemas["RewardDetail"];
export type RewardRevision = Schemas["RewardRevision"];
export type RewardTemplate = Schemas["RewardTemplate"];
export type RewardProblem = Schemas["RewardProblem"];
export type RewardEntry = Schemas["RewardEntry"];
export type RewardTestRow = Schemas["RewardTestRow"];
export type RewardTestResult = Awaited<ReturnType<typeof testSource>>;
export type Granularity = NonNullable<Schemas["RewardTest"]["granularity"]>;

const ROOM = ["rewards"] as const;

export const rewardKeys = { all: ROOM, list: [...ROOM, "list"] as const };

export const rewardsQuery = queryOptions({
  queryKey: rewardKeys.list,
  queryFn: () => unwrap(http.GET("/api/v1/rewards", { params: { query: { limit: 100 } } })),
});

export const rewardQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/rewards/{id}", { params: { path: { id } } })),
  });

/** Sources to start from; fixed while the server runs. */
export const rewardTemplatesQuery = queryOptions({
  queryKey: [...ROOM, "templates"],
  queryFn: () => unwrap(http.GET("/api/v1/rewards/templates")),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The sandbox's report on a source; equal sources are checked once. */
export const rewardCheckQuery = (source: string, entry: string | null) =>
  queryOptions({
    queryKey: [...ROOM, "check", entry, source],
    queryFn: ({ signal }) => unwrap(http.POST("/api/v1/rewards/check", { body: { source, entry }, signal })),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
    enabled: source.trim() !== "",
  });

const testSource = (body: Schemas["RewardTest"]) => unwrap(http.POST("/api/v1/rewards/test", { body }));

/** Result of a stored reward for one completion; equal ones are scored once. */
export const scoreQuery = (id: string, row: RewardTestRow) =>
  queryOptions({
    queryKey: [...ROOM, "score", id, row],
    queryFn: ({ signal }) =>
      unwrap(
        http.POST("/api/v1/rewards/{id}/test", { params: { path: { id } }, body: { rows: [row] }, signal }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 5 * 60_000,
    retry: false,
  });

/** Scores completions with code that is not stored. */
export const useTestSource = () => useMutation({ mutationFn: testSource });

export function useCreateReward() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["RewardCreate"]) => unwrap(http.POST("/api/v1/rewards", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: rewardKeys.list }),
  });
}

/** Stores changed source as the next revision; earlier ones never change. */
export function useReviseReward(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ etag, ...body }: Schemas["RevisionCreate"] & { etag: string }) =>
      unwrap(
        http.POST("/api/v1/rewards/{id}/revisions", {
          params: { path: { id }, header: madeFrom(etag) },
          body,
        }),
      ),
    onSuccess: (reward) => {
      client.setQueryData(rewardQuery(id).queryKey, reward);
      return client.invalidateQueries({ queryKey: rewardKeys.list });
    },
  });
}
