import { infiniteQueryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type AuditEntry = Schemas["AuditEntry"];

/** Who did what, newest first; for owners. */
export const auditQuery = infiniteQueryOptions({
  queryKey: ["audit"],
  queryFn: ({ pageParam }) =>
    unwrap(http.GET("/api/v1/audit", { params: { query: { limit: 20, after: pageParam } } })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => page.next_cursor ?? undefined,
});
