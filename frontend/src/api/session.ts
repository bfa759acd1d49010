import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, unwrap } from "./client";

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => unwrap(http.GET("/api/v1/me")),
  staleTime: 5 * 60_000,
});

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (token: string) => unwrap(http.POST("/api/v1/sign-in", { body: { token } })),
    onSuccess: () => client.clear(),
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/sign-out")),
    onSuccess: () => client.clear(),
  });
}
