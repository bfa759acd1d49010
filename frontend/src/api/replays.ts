import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

type Evaluation = Schemas["Evaluation"];
/** An evaluation of a job's stored completions. */
export type Replay = Evaluation & { job: string };
export type ReplayReport = Schemas["ReplayReport"];
export type Flip = Schemas["Flip"];

const ROOM = ["evaluations"] as const;
const POLL_MS = 1_000;

/** By its own id or that of its job. */
const asReplay = (one: Evaluation) => one as Replay;

/** Asked for every second while it runs. */
export const replayQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/evaluations/{id}", { params: { path: { id } } })).then(asReplay),
    refetchInterval: ({ state }) => (state.data && state.data.status !== "running" ? false : POLL_MS),
  });

/** The newest replays of a job. */
export const replaysQuery = (job: string) =>
  queryOptions({
    queryKey: [...ROOM, "of", job],
    queryFn: () =>
      unwrap(http.GET("/api/v1/evaluations", { params: { query: { job, limit: 20 } } })).then((page) => ({
        ...page,
        data: page.data.map(asReplay),
      })),
    refetchInterval: ({ state }) =>
      state.data?.data.some((one) => one.status === "running") ? 2 * POLL_MS : false,
  });

export function useStartReplay() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["ReplayCreate"]) =>
      unwrap(http.POST("/api/v1/evaluations", { body })).then(asReplay),
    onSuccess: (started) => {
      client.setQueryData(replayQuery(started.id).queryKey, started);
      return client.invalidateQueries({ queryKey: replaysQuery(started.job).queryKey });
    },
  });
}

export function useCancelReplay(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(http.POST("/api/v1/evaluations/{id}/cancel", { params: { path: { id } } })).then(asReplay),
    onSuccess: (now) => client.setQueryData(replayQuery(id).queryKey, now),
  });
}
