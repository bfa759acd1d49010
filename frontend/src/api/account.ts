import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";
import { meQuery } from "./session";

export type BrowserSession = Schemas["BrowserSession"];

/** Browsers in which the person is signed in. */
export const sessionsQuery = queryOptions({
  queryKey: ["me", "sessions"],
  queryFn: () => unwrap(http.GET("/api/v1/me/sessions")),
});

export function useUpdateAccount() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (body: Schemas["AccountUpdate"]) => {
      const { etag } = await client.ensureQueryData(meQuery);
      return unwrap(http.PATCH("/api/v1/me", { params: { header: madeFrom(etag) }, body }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: meQuery.queryKey }),
    gcTime: 0,
  });
}

export function useEndSession() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.DELETE("/api/v1/me/sessions/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
}

/** Signs in by e-mail address and password. */
export function usePasswordSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { email: string; password: string }) => unwrap(http.POST("/api/v1/sign-in", { body })),
    onSuccess: () => client.clear(),
    gcTime: 0,
  });
}

export function useResetPassword() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["PasswordReset"]) => unwrap(http.POST("/api/v1/password-reset", { body })),
    onSuccess: () => client.clear(),
    gcTime: 0,
  });
}

/** What an invitation offers; looking does not use it up. */
export const useInvitationOffer = (token: string) =>
  useQuery({
    queryKey: ["invitation", token],
    queryFn: () => unwrap(http.POST("/api/v1/invitations/look", { body: { token } })),
    retry: false,
  });

export function useAcceptInvitation() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["InvitationAccept"]) =>
      unwrap(http.POST("/api/v1/invitations/accept", { body })),
    onSuccess: () => client.clear(),
    gcTime: 0,
  });
}
