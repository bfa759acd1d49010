import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type OpenInvitation = Schemas["Invitation"];

const path = (id: string) => ({ params: { path: { id } } });

/** Nobody has used them yet, newest first; expired ones stay until they are withdrawn. For owners. */
export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: () => unwrap(http.GET("/api/v1/invitations", { params: { query: { limit: 100 } } })),
});

function useChange<In, Out>(change: (input: In) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
    gcTime: 0,
  });
}

const create = (body: Schemas["InvitationCreate"]) => unwrap(http.POST("/api/v1/invitations", { body }));
const withdraw = (id: string) => unwrap(http.DELETE("/api/v1/invitations/{id}", path(id)));

/** A new one; its address is in this answer and nowhere else. */
export const useCreateInvitation = () => useChange(create);

export const useWithdrawInvitation = () => useChange(withdraw);

/** Another address in place of one that is lost or expired; the old one no longer works. */
export const useRenewInvitation = () =>
  useChange(async ({ id, role, note }: OpenInvitation) => {
    const made = await create({ role, note, expires_in_days: 7 });
    await withdraw(id);
    return made;
  });
