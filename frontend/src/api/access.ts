import { useQuery } from "@tanstack/react-query";
import { meQuery } from "./session";

/**
 * What the person may do. `refusal` and `ownersOnly` are the reason why not, ready to be shown beside a disabled
 * action; null when it is allowed. The server decides again at each request.
 */
export function useAccess(): {
  role: string;
  /** Runs the platform. */
  administrator: boolean;
  refusal: string | null;
  ownersOnly: string | null;
} {
  const me = useQuery(meQuery).data;
  const role = me?.role ?? "viewer";
  return {
    role,
    administrator: me?.administrator ?? false,
    refusal:
      role === "viewer" ? "Your role is viewer (read only). Ask an owner of the project to change it." : null,
    ownersOnly: role === "owner" ? null : `Only owners of the project can do this; your role is ${role}.`,
  };
}
