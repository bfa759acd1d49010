import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type ApiKey = Schemas["ApiKey"];
export type Role = ApiKey["role"];
export type Scope = NonNullable<ApiKey["scopes"]>[number];

/** Keys that work, newest first; for owners. */
export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => unwrap(http.GET("/api/v1/keys", { params: { query: { limit: 100 } } })),
});

/** A new key; its secret is in this answer and nowhere else. */
export function useCreateKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["ApiKeyCreate"]) => unwrap(http.POST("/api/v1/keys", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
    gcTime: 0,
  });
}

export function useRevokeKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.DELETE("/api/v1/keys/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
}

/** Becomes yours: it no longer ends when the member who made it is removed. */
export function useTransferKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.POST("/api/v1/keys/{id}/transfer", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
}
