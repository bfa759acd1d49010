import { queryOptions } from "@tanstack/react-query";
import { http, unwrap } from "./client";

/** Who works for this backend; workers report every 10 s. */
export const workersQuery = queryOptions({
  queryKey: ["workers"],
  queryFn: () => unwrap(http.GET("/api/v1/workers")),
  refetchInterval: 10_000,
});

/** One entry of the metric catalogue. The same as `reinforge.metrics.Metric`. */
export type Metric = {
  key: string;
  unit: string;
  title: string;
  meaning: string;
  reading: string;
  better: "higher" | "lower" | "neither";
};

type Meta = { version: string; metrics: Metric[] };

/** Version, metric catalogue, presets, the schema of a job specification. Fixed while the server runs. */
export const metaQuery = queryOptions({
  queryKey: ["meta"],
  queryFn: () => unwrap(http.GET("/api/v1/meta")) as Promise<unknown> as Promise<Meta>,
  staleTime: Number.POSITIVE_INFINITY,
});
