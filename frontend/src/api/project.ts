import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { jobKeys } from "./jobs";

export type Counts = Schemas["ProjectCounts"];

/** How many things the project holds; the navigation shows it everywhere. */
export const countsQuery = queryOptions({
  queryKey: ["project", "counts"],
  queryFn: () => unwrap(http.GET("/api/v1/project/counts")),
  refetchInterval: 10_000,
});

/** Starts the demo job: its dataset and reward are made when they are not there yet. */
export function useStartDemo() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/demo")),
    onSuccess: (job) => {
      client.setQueryData(jobKeys.one(job.id), job);
      void client.invalidateQueries({ queryKey: countsQuery.queryKey });
      return client.invalidateQueries({ queryKey: jobKeys.list });
    },
  });
}
