import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { jobKeys } from "./jobs";

export type JobShare = Schemas["JobShare"];

export const sharesQuery = (job: string) =>
  queryOptions({
    queryKey: [...jobKeys.one(job), "shares"],
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/shares", { params: { path: { id: job } } })),
  });

/** A new link; its address is in this answer and nowhere else. */
export function useCreateShare(job: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { samples: number; expires_in_days: number | null }) =>
      unwrap(http.POST("/api/v1/jobs/{id}/shares", { params: { path: { id: job } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: sharesQuery(job).queryKey }),
    gcTime: 0,
  });
}

export function useRevokeShare(job: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (share: string) =>
      unwrap(
        http.DELETE("/api/v1/jobs/{id}/shares/{share_id}", {
          params: { path: { id: job, share_id: share } },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: sharesQuery(job).queryKey }),
  });
}
