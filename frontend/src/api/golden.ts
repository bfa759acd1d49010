import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { rewardKeys } from "./rewards";

export type GoldenCase = Schemas["StoredGoldenCase"];
export type NewGoldenCase = Schemas["GoldenCaseCreate"];
export type GoldenRun = Schemas["GoldenRun"];
export type GoldenOutcome = Schemas["GoldenOutcome"];

const keyOf = (reward: string) => [...rewardKeys.all, "golden", reward] as const;

/** All cases of a reward, oldest first. */
export const goldenQuery = (reward: string) =>
  queryOptions({
    queryKey: keyOf(reward),
    queryFn: () =>
      unwrap(http.GET("/api/v1/rewards/{id}/golden-cases", { params: { path: { id: reward } } })),
  });

/** Saves one case without running the reward. */
export function useKeepGolden() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ reward, one }: { reward: string; one: NewGoldenCase }) =>
      unwrap(
        http.POST("/api/v1/rewards/{id}/golden-cases", {
          params: { path: { id: reward } },
          body: { cases: [one] },
        }),
      ),
    onSuccess: (_, { reward }) => client.invalidateQueries({ queryKey: keyOf(reward) }),
  });
}

export function useDeleteGolden(reward: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      unwrap(
        http.DELETE("/api/v1/rewards/{id}/golden-cases/{case}", {
          params: { path: { id: reward, case: id } },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: keyOf(reward) }),
  });
}

/** What all cases say about a stored revision; keyed by the cases too, so that a new one asks again. */
export const goldenRunQuery = (reward: string, revision: number, cases: readonly GoldenCase[]) =>
  queryOptions({
    queryKey: [...rewardKeys.all, "golden-run", reward, revision, cases.map(({ id }) => id)],
    queryFn: ({ signal }) =>
      unwrap(
        http.POST("/api/v1/rewards/{id}/golden-cases/run", {
          params: { path: { id: reward } },
          body: { revision },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
    enabled: cases.length > 0,
  });

/** Runs all cases: against the newest revision, or a source that is not stored. */
export const useRunGolden = (reward: string) =>
  useMutation({
    mutationFn: (body: Schemas["GoldenRunCreate"]) =>
      unwrap(http.POST("/api/v1/rewards/{id}/golden-cases/run", { params: { path: { id: reward } }, body })),
  });
