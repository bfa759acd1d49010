import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { jobKeys } from "./jobs";

export type LabelPlace = Schemas["LabelPlace"];
export type LabelView = Schemas["LabelView"];
/** An interval is a pair in the document, and a list for the client that reads it. */
export type CalibrationReport = Omit<Schemas["CalibrationReport"], "interval"> & {
  interval: readonly number[] | null;
};
export type Calibration = Omit<Schemas["Calibration"], "report"> & { report: CalibrationReport };

/** What people said of the job's completions. */
export const labelsQuery = (job: string) =>
  queryOptions({
    queryKey: [...jobKeys.one(job), "labels"],
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/labels", { params: { path: { id: job } } })),
  });

/** Agreement of a reward with the labels, and what to label next; fetched again on request. */
export const calibrationQuery = (job: string, reward: string) =>
  queryOptions({
    queryKey: [...jobKeys.one(job), "calibration", reward],
    queryFn: () =>
      unwrap(http.GET("/api/v1/jobs/{id}/calibration", { params: { path: { id: job }, query: { reward } } })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });

/** One label; `right` null takes it away. One after another, however fast they come. */
export function usePutLabel(job: string) {
  const client = useQueryClient();
  return useMutation({
    scope: { id: `labels ${job}` },
    mutationFn: (label: Schemas["LabelCreate"]) =>
      unwrap(
        http.POST("/api/v1/jobs/{id}/labels", {
          params: { path: { id: job } },
          body: { labels: [label] },
        }),
      ),
    onSuccess: (labels) => client.setQueryData(labelsQuery(job).queryKey, labels),
  });
}
