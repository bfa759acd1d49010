import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type RewardSummary = Schemas["RewardSummary"];
export type RewardRevision = Schemas["RewardRevision"];

const ROOM = ["rewards"] as const;

export const rewardsQuery = queryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: () => unwrap(http.GET("/api/v1/rewards", { params: { query: { limit: 100 } } })),
});

export const rewardQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/rewards/{id}", { params: { path: { id } } })),
  });

export function useCreateReward() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["RewardCreate"]) => unwrap(http.POST("/api/v1/rewards", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}

/** Stores changed source as the next revision; earlier ones never change. */
export function useReviseReward(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["RevisionCreate"]) =>
      unwrap(http.POST("/api/v1/rewards/{id}/revisions", { params: { path: { id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}
