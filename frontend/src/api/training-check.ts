import { queryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type TrainingCheck = Schemas["JobTrainingCheck"];
export type Observation = Schemas["Observation"];

const LIVE_MS = 3_000;

export const trainingCheckKey = (id: string) => ["jobs", "training-check", id] as const;

/** Whether a job is training. Findings and evaluations refresh it at once, steps every few seconds. */
export const trainingCheckQuery = (id: string, stopped: boolean) =>
  queryOptions({
    queryKey: trainingCheckKey(id),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/training-check", { params: { path: { id } } })),
    refetchInterval: stopped ? false : LIVE_MS,
  });
