import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { isFinal, type Job, jobKeys } from "./jobs";

export type JobFork = Schemas["JobFork"];

/** The steps that a fork can go on from, newest first. They change with the job's checkpoints. */
export const startsQuery = (job: string) =>
  queryOptions({
    queryKey: [...jobKeys.checkpoints(job), "starts"],
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/starts", { params: { path: { id: job } } })),
  });

const FAMILY_MS = 10_000;

/** The job, its origin and all their forks, oldest first; polled while one of them runs. */
export const familyQuery = (job: string) =>
  queryOptions({
    queryKey: [...jobKeys.list, "family", job],
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/family", { params: { path: { id: job } } })),
    refetchInterval: ({ state }) =>
      state.data?.data.some((one: Job) => !isFinal(one.status)) ? FAMILY_MS : false,
  });

/** Starts a job from a step of this one; a worker checks it like any other. */
export function useForkJob(job: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: JobFork) =>
      unwrap(http.POST("/api/v1/jobs/{id}/fork", { params: { path: { id: job } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: jobKeys.list }),
  });
}
