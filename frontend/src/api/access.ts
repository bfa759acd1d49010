import { useQuery } from "@tanstack/react-query";
import { meQuery } from "./session";

/**
 * What the person may do. `refusal` and `ownersOnly` are the reason why not, ready to be shown beside a disabled
 * action; null when it is allowed. The server decides again at each request.
 */
export function useAccess(): { role: string; refusal: string | null; ownersOnly: string | null } {
  const role = useQuery(meQuery).data?.role ?? "viewer";
  return {
    role,
    refusal:
      role === "viewer"
        ? "Your role is viewer, which reads. Ask an owner of the project to change it."
        : null,
    ownersOnly: role === "owner" ? null : `For owners of the project; your role is ${role}.`,
  };
}
