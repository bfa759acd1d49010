import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { jobKeys } from "./jobs";

export type JobSetting = Schemas["JobSetting"];
export type JobChange = Schemas["JobChangeView"];

/** The numbers that can be changed while the job runs, with what they are now. Under the key of the job's changes, so
 * that a change makes them stale. */
export const settingsQuery = (job: string) =>
  queryOptions({
    queryKey: [...jobKeys.changes(job), "settings"],
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/settings", { params: { path: { id: job } } })),
  });

export type NewValue = { setting: string; value: number };

/** Changes settings from the next step on, one request at a time; the first refusal ends it. */
export function useChangeSettings(job: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (changes: NewValue[]) => {
      for (const change of changes) {
        const body = { type: "setting" as const, ...change };
        await unwrap(http.POST("/api/v1/jobs/{id}/changes", { params: { path: { id: job } }, body }));
      }
    },
    onSettled: () => client.invalidateQueries({ queryKey: jobKeys.changes(job) }),
  });
}

/** A checkpoint after the step under way, which is a newer one than `newest`; the stream says when it is there. */
export function useCheckpointNow(job: string) {
  return useMutation({
    mutationFn: (_newest: number) =>
      unwrap(http.POST("/api/v1/jobs/{id}/checkpoint", { params: { path: { id: job } } })),
  });
}

/** Changes of a running job in order of request. The stream says when they are stale. */
export const changesQuery = (job: string) =>
  queryOptions({
    queryKey: jobKeys.changes(job),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/changes", { params: { path: { id: job } } })),
  });

/** Another revision scores from the job's next step on; its golden cases have to pass. */
export function useChangeReward(job: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Omit<Schemas["RewardChangeCreate"], "type">) =>
      unwrap(
        http.POST("/api/v1/jobs/{id}/changes", {
          params: { path: { id: job } },
          body: { type: "reward", ...body },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: jobKeys.changes(job) }),
  });
}
