import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";

export type Usage = Schemas["ProjectUsage"];
export type Budget = Schemas["Budget"];
export type UsageKind = Budget["kind"];
export type Period = Budget["period"];

const KEY = ["usage"];

/** What the project has used over the last days, today included. */
export const usageQuery = (days: number) =>
  queryOptions({
    queryKey: [...KEY, days],
    queryFn: () => unwrap(http.GET("/api/v1/usage", { params: { query: { days } } })),
    refetchInterval: 60_000,
  });

export function useSetBudget() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ etag, ...body }: Schemas["BudgetSet"] & { etag?: string }) =>
      unwrap(http.PUT("/api/v1/budgets", { params: { header: etag ? madeFrom(etag) : {} }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useRemoveBudget() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ kind, period }: Pick<Budget, "kind" | "period">) =>
      unwrap(http.DELETE("/api/v1/budgets/{kind}/{period}", { params: { path: { kind, period } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}
