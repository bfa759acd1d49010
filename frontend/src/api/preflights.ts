import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import type { JobSpec, JobStatus } from "./jobs";

export type Preflight = Schemas["Preflight"];
export type PreflightReport = Schemas["PreflightReport"];
export type PreflightSuggestion = NonNullable<PreflightReport["suggestions"]>[number];

/** A pre-flight that pauses (its rewards fail) is not resumed: it has said what it can. */
const OVER: ReadonlySet<JobStatus> = new Set(["succeeded", "failed", "cancelled", "paused"]);
export const isOver = (status: JobStatus) => OVER.has(status);

const POLL_MS = 1_000;

const keyOf = (id: string) => ["preflights", id] as const;

/** Asked for every second until it is over. */
export const preflightQuery = (id: string) =>
  queryOptions({
    queryKey: keyOf(id),
    queryFn: () => unwrap(http.GET("/api/v1/preflights/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data && isOver(state.data.status) ? false : POLL_MS),
  });

/** Queues a few steps of the job, without learning. */
export function useStartPreflight() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: JobSpec) => unwrap(http.POST("/api/v1/preflights", { body })),
    onSuccess: (started) => client.setQueryData(keyOf(started.id), started),
  });
}

export function useCancelPreflight(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/preflights/{id}/cancel", { params: { path: { id } } })),
    onSuccess: (now) => client.setQueryData(keyOf(id), now),
  });
}
