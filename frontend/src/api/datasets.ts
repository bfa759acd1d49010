import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiError, http, madeFrom, type Schemas, unwrap } from "./client";
import { CANCELLED, LARGE_BYTES, type PartsProgress, sendInParts } from "./resumable-upload";
import { sendFile, type UploadProgress } from "./upload";

export type Dataset = Schemas["Dataset"];
export type PromptView = Schemas["PromptView"];
export type RenderedPrompt = Schemas["RenderedPrompt"];
export type RenderedPrompts = Schemas["RenderedPrompts"];
export type TokenLengths = Schemas["TokenLengths"];
export type SplitView = Schemas["SplitView"];
export type SplitBy = "row" | "prompt";
export type DatasetReport = Schemas["DatasetOverlap"];

/** One column as the server found it. The same as `Dataset.columns`, whose entries have no schema of their own. */
export type DatasetColumn = { name: string; type: string; nulls: number; example: unknown };
export const columnsOf = (dataset: Dataset | undefined) => (dataset?.columns ?? []) as DatasetColumn[];

const ROOM = ["datasets"] as const;

export const datasetKeys = { all: ROOM, list: [...ROOM, "list"] as const };

export const datasetsQuery = queryOptions({
  queryKey: datasetKeys.list,
  queryFn: () => unwrap(http.GET("/api/v1/datasets", { params: { query: { limit: 100 } } })),
});

export const datasetQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/datasets/{id}", { params: { path: { id } } })),
  });

/** A dataset's rows never change: they are read once. */
export const datasetRowsQuery = (id: string, offset: number, limit: number) =>
  queryOptions({
    queryKey: [...ROOM, "rows", id, offset, limit],
    queryFn: () =>
      unwrap(http.GET("/api/v1/datasets/{id}/rows", { params: { path: { id }, query: { offset, limit } } })),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Rows as a model reads them; fetched again after every change of the view. */
export const renderedQuery = (id: string, body: Schemas["RenderRequest"]) =>
  queryOptions({
    queryKey: [...ROOM, "rendered", id, body],
    queryFn: ({ signal }) =>
      unwrap(http.POST("/api/v1/datasets/{id}/render", { params: { path: { id } }, body, signal })),
    placeholderData: keepPreviousData,
    staleTime: 5 * 60_000,
    retry: false,
  });

export const lengthsQuery = (id: string, body: Schemas["LengthsRequest"]) =>
  queryOptions({
    queryKey: [...ROOM, "lengths", id, body],
    queryFn: ({ signal }) =>
      unwrap(http.POST("/api/v1/datasets/{id}/lengths", { params: { path: { id } }, body, signal })),
    placeholderData: keepPreviousData,
    staleTime: 5 * 60_000,
    retry: false,
  });

/** Which rows a job with this seed holds out; without a number of rows the server's default. */
export const splitQuery = (
  id: string,
  seed: number,
  heldOutRows: number | undefined,
  splitBy: SplitBy = "row",
) =>
  queryOptions({
    queryKey: [...ROOM, "split", id, seed, heldOutRows ?? "default", splitBy],
    queryFn: ({ signal }) =>
      unwrap(
        http.GET("/api/v1/datasets/{id}/split", {
          params: { path: { id }, query: { seed, held_out_rows: heldOutRows, split_by: splitBy } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

export type ReportOf = { seed: number; heldOutRows?: number; splitBy: SplitBy; heldOut?: string };

/** Equal prompts and leaks of a split or another dataset; polled until computed. */
export const reportQuery = (id: string, of: ReportOf) =>
  queryOptions({
    queryKey: [...ROOM, "report", id, of],
    queryFn: ({ signal }) =>
      unwrap(
        http.GET("/api/v1/datasets/{id}/report", {
          params: {
            path: { id },
            query: of.heldOut
              ? { held_out: of.heldOut, wait: 5 }
              : { seed: of.seed, held_out_rows: of.heldOutRows, split_by: of.splitBy, wait: 5 },
          },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.status === "running" ? 1_000 : false),
    retry: false,
  });

/** Where the file itself is fetched, as it was uploaded. */
export const contentAddress = (id: string) => `/api/v1/datasets/${encodeURIComponent(id)}/content`;

/** Uploads one file; the server reads it whole and refuses it whole. */
export function useUploadDataset() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (file: File) =>
      sendFile<Dataset>("/api/v1/datasets", file, () => {}, new AbortController().signal),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}

export type Upload =
  | { phase: "idle" }
  | ({ phase: "sending"; file: File } & PartsProgress)
  | { phase: "checking"; file: File }
  | { phase: "refused"; file: File; error: ApiError };

/**
 * One upload at a time, with its progress, that can be cancelled. Leaving the screen ends it; a large file goes on
 * where it stopped when it is chosen again.
 */
export function useUpload(onDone: (dataset: Dataset) => void) {
  const client = useQueryClient();
  const [upload, setUpload] = useState<Upload>({ phase: "idle" });
  const abort = useRef<AbortController>(null);
  useEffect(() => () => abort.current?.abort(), []);

  const start = async (file: File, skipBadRows = false) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setUpload({ phase: "sending", file, sent: 0, total: file.size, waiting: false });
    const onProgress = ({ sent, total, waiting = false }: UploadProgress & { waiting?: boolean }) =>
      setUpload(
        sent < total || waiting
          ? { phase: "sending", file, sent, total, waiting }
          : { phase: "checking", file },
      );
    try {
      const dataset =
        file.size > LARGE_BYTES
          ? await sendInParts(file, onProgress, controller.signal, skipBadRows)
          : await sendFile<Dataset>("/api/v1/datasets", file, onProgress, controller.signal, {
              skip_bad_rows: String(skipBadRows),
            });
      setUpload({ phase: "idle" });
      void client.invalidateQueries({ queryKey: datasetKeys.list });
      onDone(dataset);
    } catch (error) {
      if (controller.signal.aborted || !(error instanceof ApiError)) return;
      setUpload({ phase: "refused", file, error });
    }
  };
  const reset = () => {
    abort.current?.abort(CANCELLED);
    setUpload({ phase: "idle" });
  };
  return { upload, start, reset };
}

/** Renames a dataset or keeps how its rows become prompts. */
export function useUpdateDataset(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ etag, ...body }: Schemas["DatasetUpdate"] & { etag: string }) =>
      unwrap(http.PATCH("/api/v1/datasets/{id}", { params: { path: { id }, header: madeFrom(etag) }, body })),
    onSuccess: (dataset) => {
      client.setQueryData(datasetQuery(id).queryKey, dataset);
      return client.invalidateQueries({ queryKey: datasetKeys.list });
    },
  });
}

export function useDeleteDataset() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.DELETE("/api/v1/datasets/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: datasetKeys.list }),
  });
}
