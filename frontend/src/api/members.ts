import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";
import type { Role } from "./keys";

export type Member = Schemas["Member"];
export type Invitation = Schemas["MemberInvited"];

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: () => unwrap(http.GET("/api/v1/members")),
});

/** Changes the members and asks for their list again. */
function useMemberChange<In, Out>(change: (input: In) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: membersQuery.queryKey }),
    gcTime: 0,
  });
}

/** Adds a person; the one-time address is in this answer and nowhere else. */
export const useInvite = () =>
  useMemberChange((body: Schemas["MemberCreate"]) => unwrap(http.POST("/api/v1/members", { body })));

/** A fresh one-time address for a person whose last one is used up. */
export const useNewLink = () =>
  useMemberChange((id: string) =>
    unwrap(http.POST("/api/v1/members/{id}/sign-in-link", { params: { path: { id } } })),
  );

/** A one-time address with which the person sets a password. */
export const usePasswordLink = () =>
  useMemberChange((id: string) =>
    unwrap(http.POST("/api/v1/members/{id}/password-reset", { params: { path: { id } } })),
  );

export const useChangeRole = () =>
  useMemberChange(({ id, etag, role }: { id: string; etag: string; role: Role }) =>
    unwrap(
      http.PATCH("/api/v1/members/{id}", {
        params: { path: { id }, header: madeFrom(etag) },
        body: { role },
      }),
    ),
  );

export const useRemoveMember = () =>
  useMemberChange((id: string) => unwrap(http.DELETE("/api/v1/members/{id}", { params: { path: { id } } })));
