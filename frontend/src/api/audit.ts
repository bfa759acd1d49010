import { infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type AuditEntry = Schemas["AuditEntry"];

/** Who did what, newest first; `q`: words that all have to occur in an entry. For owners. */
export const auditQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: ["audit", q],
    queryFn: ({ pageParam }) =>
      unwrap(
        http.GET("/api/v1/audit", { params: { query: { limit: 30, after: pageParam, q: q || undefined } } }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
