import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type Dataset = Schemas["Dataset"];

const ROOM = ["datasets"] as const;

export const datasetsQuery = queryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: () => unwrap(http.GET("/api/v1/datasets", { params: { query: { limit: 100 } } })),
});

export const datasetQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/datasets/{id}", { params: { path: { id } } })),
  });

export const datasetRowsQuery = (id: string, offset: number, limit: number) =>
  queryOptions({
    queryKey: [...ROOM, "rows", id, offset, limit],
    queryFn: () =>
      unwrap(http.GET("/api/v1/datasets/{id}/rows", { params: { path: { id }, query: { offset, limit } } })),
    placeholderData: keepPreviousData,
  });

/** Uploads one file; the server reads it whole and refuses it whole. */
export function useUploadDataset() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (file: File) => {
      const form = new FormData();
      form.append("file", file);
      return unwrap(
        http.POST("/api/v1/datasets", {
          body: { file: "" },
          bodySerializer: () => form,
        }),
      );
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}

export function useDeleteDataset() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.DELETE("/api/v1/datasets/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: [...ROOM, "list"] }),
  });
}
