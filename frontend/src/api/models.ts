import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type BaseModel = Schemas["BaseModelInfo"];

const ROOM = ["models"] as const;
const POLL_MS = 1_000;

/** Whose it is, in the words of the page. */
export const ownerOf = (model: BaseModel) => (model.shared ? "All projects" : "This project");

/** A worker downloads it or looks at it right now. */
export const isLookedAt = (model: BaseModel) => model.status === "adding" || Boolean(model.progress);

export const modelsQuery = queryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: () => unwrap(http.GET("/api/v1/models", { params: { query: { limit: 100 } } })),
  refetchInterval: ({ state }) => (state.data?.data.some(isLookedAt) ? POLL_MS : false),
});

export const modelQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/models/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data && isLookedAt(state.data) ? POLL_MS : false),
  });

/** Adds a base model; answers when a worker has inspected it, or (`wait: false`) at once. */
export function useAddModel(wait = true) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["ModelCreate"]) =>
      unwrap(http.POST("/api/v1/models", { body, params: { query: { wait } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}

/** Gives a model of the project to all projects. */
export function useShareModel() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.POST("/api/v1/models/{id}/share", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}

/** Forgets a model that nothing names. */
export function useRemoveModel() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.DELETE("/api/v1/models/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}
