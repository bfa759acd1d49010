import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

/** A base model, an adapter or a checkpoint, sampled on a dataset and scored with one reward. */
export type Evaluation = Schemas["Evaluation"];
export type EvaluationSummary = NonNullable<Evaluation["summary"]>;
export type RowScores = Schemas["EvaluatedRow"];
export type EvaluationCreate = Schemas["StandAloneCreate"];

const ROOM = ["evaluations", "stand-alone"] as const;
const POLL_MS = 1_500;
const PAGE = 50;
const path = (id: string) => ({ params: { path: { id } } });

/** Newest first; polled while one runs. */
export const evaluationsQuery = infiniteQueryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: ({ pageParam }) =>
    unwrap(
      http.GET("/api/v1/evaluations", {
        params: { query: { kind: "stand_alone", limit: PAGE, after: pageParam } },
      }),
    ),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => page.next_cursor ?? undefined,
  refetchInterval: ({ state }) =>
    state.data?.pages.some((page) => page.data.some((one) => one.status === "running")) ? 2 * POLL_MS : false,
});

/** Asked for again and again while it runs. */
export const evaluationQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/evaluations/{id}", path(id))),
    refetchInterval: ({ state }) => (state.data?.status === "running" ? POLL_MS : false),
  });

/** Rewards by row of one that has ended: they do not change any more. */
export const scoresQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "rows", id],
    queryFn: () => unwrap(http.GET("/api/v1/evaluations/{id}/rows", path(id))),
    staleTime: Number.POSITIVE_INFINITY,
  });

const completionsOf = (id: string, row: number) =>
  unwrap(
    http.GET("/api/v1/evaluations/{id}/completions", { params: { path: { id }, query: { row, limit: 16 } } }),
  );

export type EvaluatedCompletion = Awaited<ReturnType<typeof completionsOf>>["data"][number];

/** What was sampled for one row, and what the reward said. */
export const rowQuery = (id: string, row: number) =>
  queryOptions({
    queryKey: [...ROOM, "row", id, row],
    queryFn: () => completionsOf(id, row),
    staleTime: Number.POSITIVE_INFINITY,
  });

function useChange<In>(change: (input: In) => Promise<Evaluation>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (now) => {
      client.setQueryData(evaluationQuery(now.id).queryKey, now);
      return client.invalidateQueries({ queryKey: [...ROOM, "list"] });
    },
  });
}

export const useStartEvaluation = () =>
  useChange((body: EvaluationCreate) => unwrap(http.POST("/api/v1/evaluations", { body })));

export const useCancelEvaluation = () =>
  useChange((id: string) => unwrap(http.POST("/api/v1/evaluations/{id}/cancel", path(id))));

/** Resumes a failed or cancelled evaluation after its last completion. */
export const useResumeEvaluation = () =>
  useChange((id: string) => unwrap(http.POST("/api/v1/evaluations/{id}/resume", path(id))));
