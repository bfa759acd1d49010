import { queryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type TrainingCheck = Schemas["JobTrainingCheck"];
export type Observation = Schemas["Observation"];

const LIVE_MS = 3_000;
/** A check reads whole curves, and one step changes a long one little: 0.1 s of the server at 10,000 steps. */
const LONG_JOB_STEPS = 1_000;
const LONG_JOB_MS = 30_000;

export const trainingCheckKey = (id: string) => ["jobs", "training-check", id] as const;

/** Whether a job is training. Findings and evaluations refresh it at once, steps after a few seconds. */
export const trainingCheckQuery = (id: string, step: number, stopped: boolean) =>
  queryOptions({
    queryKey: trainingCheckKey(id),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/training-check", { params: { path: { id } } })),
    refetchInterval: stopped ? false : step > LONG_JOB_STEPS ? LONG_JOB_MS : LIVE_MS,
  });
