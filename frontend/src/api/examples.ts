import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { datasetsQuery } from "./datasets";
import { jobKeys } from "./jobs";
import { countsQuery } from "./project";
import { rewardsQuery } from "./rewards";

export type Example = Schemas["ExampleSummary"];

const ROOM = ["examples"];

export const examplesQuery = queryOptions({
  queryKey: ROOM,
  queryFn: () => unwrap(http.GET("/api/v1/examples")),
});

/** With README, job file and reward sources. */
export const exampleQuery = (example: string) =>
  queryOptions({
    queryKey: [...ROOM, example],
    queryFn: () => unwrap(http.GET("/api/v1/examples/{example}", { params: { path: { example } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Creates the example's data, reward and job where they are missing. */
export function useStartExample() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (example: string) =>
      unwrap(http.POST("/api/v1/examples/{example}/start", { params: { path: { example } } })),
    onSuccess: (job) => {
      client.setQueryData(jobKeys.one(job.id), job);
      for (const queryKey of [ROOM, countsQuery.queryKey, datasetsQuery.queryKey, rewardsQuery.queryKey])
        void client.invalidateQueries({ queryKey });
      return client.invalidateQueries({ queryKey: jobKeys.list });
    },
  });
}
