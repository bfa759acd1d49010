import { queryOptions } from "@tanstack/react-query";
import { http, unwrap } from "./client";
import { jobKeys } from "./jobs";

export type Used = { dataset: string } | { reward: string };

/** The newest jobs that use a dataset or a reward. */
export const jobsUsingQuery = (used: Used) =>
  queryOptions({
    queryKey: [...jobKeys.list, "using", used],
    queryFn: () => unwrap(http.GET("/api/v1/jobs", { params: { query: { ...used, limit: 50 } } })),
  });
