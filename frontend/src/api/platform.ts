import { queryOptions } from "@tanstack/react-query";
import { http, unwrap } from "./client";

/** Who works for this backend; workers report every 10 s. */
export const workersQuery = queryOptions({
  queryKey: ["workers"],
  queryFn: () => unwrap(http.GET("/api/v1/workers")),
  refetchInterval: 10_000,
});

/** Version, metric catalogue, presets, the schema of a job specification. Fixed while the server runs. */
export const metaQuery = queryOptions({
  queryKey: ["meta"],
  queryFn: () => unwrap(http.GET("/api/v1/meta")),
  staleTime: Number.POSITIVE_INFINITY,
});
