import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type BaseModel = Schemas["BaseModelInfo"];

const ROOM = ["models"] as const;

export const modelsQuery = queryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: () => unwrap(http.GET("/api/v1/models", { params: { query: { limit: 100 } } })),
});

/** Adds a base model; answers when a worker has inspected it. */
export function useAddModel() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["ModelCreate"]) => unwrap(http.POST("/api/v1/models", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}
