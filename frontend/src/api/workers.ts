import { queryOptions } from "@tanstack/react-query";
import { http, unwrap } from "./client";

/** Workers of this server; they report every 10 s. */
export const workersQuery = queryOptions({
  queryKey: ["workers"],
  queryFn: () => unwrap(http.GET("/api/v1/workers")),
  refetchInterval: 10_000,
});
