import { useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, unwrap } from "./client";
import { type Job, jobKeys } from "./jobs";

export type BulkAction = "archive" | "unarchive" | "cancel" | "delete";
export type BulkFailure = { job: Job; error: Error };

function request(action: BulkAction, id: string): Promise<unknown> {
  const params = { path: { id } };
  if (action === "delete") return unwrap(http.DELETE("/api/v1/jobs/{id}", { params }));
  if (action === "cancel") return unwrap(http.POST("/api/v1/jobs/{id}/cancel", { params }));
  const body = { archived: action === "archive" };
  return unwrap(http.PATCH("/api/v1/jobs/{id}", { params: { ...params, header: madeFrom("*") }, body }));
}

/** The same change of several jobs, one after the other; a failure does not stop the rest. */
export function useBulk() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ action, jobs }: { action: BulkAction; jobs: readonly Job[] }) => {
      const failures: BulkFailure[] = [];
      for (const job of jobs) {
        try {
          await request(action, job.id);
        } catch (error) {
          failures.push({ job, error: error instanceof Error ? error : new Error(String(error)) });
        }
      }
      return { done: jobs.length - failures.length, failures };
    },
    onSettled: (_, __, { jobs }) => {
      for (const { id } of jobs) void client.invalidateQueries({ queryKey: jobKeys.one(id) });
      return client.invalidateQueries({ queryKey: jobKeys.list });
    },
  });
}
