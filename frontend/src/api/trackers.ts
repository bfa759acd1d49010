import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";
import { jobKeys } from "./jobs";

export type Tracker = Schemas["Tracker"];
export type NewTracker = Schemas["TrackerCreate"];
export type TrackerChange = Schemas["TrackerChange"];
export type JobExport = Schemas["JobExport"];

const REFRESH_MS = 5000;

/** All trackers of the project, by name; their keys are never answered. */
export const trackersQuery = queryOptions({
  queryKey: ["trackers"],
  queryFn: () => unwrap(http.GET("/api/v1/trackers")),
});

/** A key that was sent is not kept in the browser. */
function useTrackerChange<In, Out>(change: (input: In) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: trackersQuery.queryKey }),
    gcTime: 0,
  });
}

export const useCreateTracker = () =>
  useTrackerChange((body: NewTracker) => unwrap(http.POST("/api/v1/trackers", { body })));

export const useChangeTracker = () =>
  useTrackerChange(({ id, etag, ...body }: TrackerChange & { id: string; etag: string }) =>
    unwrap(http.PATCH("/api/v1/trackers/{id}", { params: { path: { id }, header: madeFrom(etag) }, body })),
  );

export const useDeleteTracker = () =>
  useTrackerChange((id: string) =>
    unwrap(http.DELETE("/api/v1/trackers/{id}", { params: { path: { id } } })),
  );

export const exportsQuery = (job: string) =>
  queryOptions({
    queryKey: [...jobKeys.one(job), "exports"],
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/exports", { params: { path: { id: job } } })),
    refetchInterval: REFRESH_MS,
  });

function useExportChange<In, Out>(job: string, change: (input: In) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: exportsQuery(job).queryKey }),
  });
}

/** Also attempts a failed export again. */
export const useStartExport = (job: string) =>
  useExportChange(job, (tracker: string) =>
    unwrap(http.POST("/api/v1/jobs/{id}/exports", { params: { path: { id: job } }, body: { tracker } })),
  );

export const useStopExport = (job: string) =>
  useExportChange(job, (id: string) =>
    unwrap(
      http.DELETE("/api/v1/jobs/{id}/exports/{export_id}", { params: { path: { id: job, export_id: id } } }),
    ),
  );
