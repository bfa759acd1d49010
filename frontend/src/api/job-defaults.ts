import { queryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import type { Spec } from "./job-form";

export type JobDefaults = Schemas["JobDefaults"];
export type JobDefault = Schemas["JobDefault"];
export type TimeEstimate = Schemas["TimeEstimate"];

/** Suggested values and time of a specification; `measured`: the pre-flight that has ended meanwhile. */
export const jobDefaultsQuery = (spec: Spec, measured: string | undefined) =>
  queryOptions({
    queryKey: ["job-defaults", spec, measured],
    queryFn: ({ signal }) => unwrap(http.POST("/api/v1/jobs/defaults", { body: { ...spec }, signal })),
    staleTime: 30_000,
    gcTime: 60_000,
    retry: false,
  });
