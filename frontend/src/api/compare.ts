import { queryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type JobComparison = Schemas["JobComparison"];
export type ComparedJob = Schemas["ComparedJob"];
export type HeldOutEstimate = Schemas["HeldOutEstimate"];
export type Moment = "last" | "best";

/** Jobs beside the first of them, as the server compares them; again every 10 s while one runs. */
export const comparisonQuery = (jobs: readonly string[], at: Moment) =>
  queryOptions({
    queryKey: ["jobs", "comparison", at, ...jobs],
    queryFn: () => unwrap(http.GET("/api/v1/compare", { params: { query: { job: [...jobs], at } } })),
    refetchInterval: ({ state }) => (state.data?.jobs.some((job) => job.seconds === null) ? 10_000 : false),
  });

/** One curve of a job, shortened to what a chart can show. */
export const curveQuery = (id: string, key: string) =>
  queryOptions({
    queryKey: ["jobs", "curve", id, key],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/metrics", {
          params: { path: { id }, query: { buckets: 500, key: [key] } },
        }),
      ),
    staleTime: 10_000,
  });
