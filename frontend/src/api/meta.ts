import { queryOptions } from "@tanstack/react-query";
import { http, unwrap } from "./client";
import type { components } from "./schema.gen";

export type Meta = components["schemas"]["Meta"];
export type MetricChart = components["schemas"]["MetricChart"];
export type MetricFamily = components["schemas"]["MetricFamily"];
export type ChartScale = components["schemas"]["ChartScale"];

/** Metrics, charts, presets and the schema of a job file. They are fixed while the server runs. */
export const metaQuery = queryOptions({
  queryKey: ["meta"],
  queryFn: () => unwrap(http.GET("/api/v1/meta")),
  staleTime: Number.POSITIVE_INFINITY,
});
