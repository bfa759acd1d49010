import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { JsonObject } from "@/lib/paths";
import type { Presets } from "@/lib/spec-schema";
import { http, type Schemas, unwrap } from "./client";

export type JobForm = Schemas["JobForm"];
export type JobCheck = Schemas["JobCheck"];
export type JobProblem = Schemas["JobProblem"];
export type Preset = Schemas["Preset"];
export type Spec = { readonly [key: string]: unknown };

/** Specification that each preset fills in, by id. */
export const partsOf = (presets: readonly Preset[]): Presets =>
  Object.fromEntries(presets.map(({ id, algorithm, job }) => [id, { ...job, algorithm } as JsonObject]));

/** The schema of a specification and the presets. Fixed while the server runs. */
export const jobFormQuery = queryOptions({
  queryKey: ["job-form"],
  queryFn: () => unwrap(http.GET("/api/v1/job-form")),
  staleTime: Number.POSITIVE_INFINITY,
});

const check = (spec: Spec, quick: boolean, signal?: AbortSignal) =>
  unwrap(http.POST("/api/v1/jobs/check", { params: { query: { quick } }, body: { ...spec }, signal }));

/** Problems that need no worker; the last response stays during the next request. */
export const quickCheckQuery = (spec: Spec) =>
  queryOptions({
    queryKey: ["job-check", "quick", spec],
    queryFn: ({ signal }) => check(spec, true, signal),
    placeholderData: keepPreviousData,
    staleTime: 10_000,
    gcTime: 60_000,
  });

/**
 * The whole check, with what only a worker can tell: lengths of prompts, whether the reward loads. Keyed by the whole
 * specification, asked for when the form says so.
 */
export const fullCheckQuery = (spec: Spec) =>
  queryOptions({
    queryKey: ["job-check", "full", spec],
    queryFn: ({ signal }) => check(spec, false, signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  });

/** Runs the full check; the response is cached for `fullCheckQuery`. */
export function useFullCheck() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (spec: Spec) => check(spec, false),
    onSuccess: (result, spec) => client.setQueryData(fullCheckQuery(spec).queryKey, result),
  });
}
