import { queryOptions } from "@tanstack/react-query";
import { http, unwrap } from "./client";
import { jobKeys } from "./jobs";

export type Used = { dataset: string } | { reward: string } | { model: string };

/** The newest jobs that use a dataset, a reward or a base model. */
export const jobsUsingQuery = (used: Used) =>
  queryOptions({
    queryKey: [...jobKeys.list, "using", used],
    queryFn: () => unwrap(http.GET("/api/v1/jobs", { params: { query: { ...used, limit: 50 } } })),
  });
