import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type Sweep = Schemas["Sweep"];
export type SweepDetail = Schemas["SweepDetail"];
export type SweepTrial = Schemas["SweepTrial"];
/** The server's check, with the number of seeds of the sweep that it is about. */
export type CheckedSweep = Schemas["SweepCheck"] & { seeds: number };
export type Method = Sweep["method"];
/** A sweep as it is sent: checked by the server. */
export type SweepBody = { readonly [key: string]: unknown };

const ROOM = ["sweeps"] as const;
const POLL_MS = 3_000;
const PAGE = 50;
const path = (id: string) => ({ params: { path: { id } } });

export const isOpen = ({ status }: Pick<Sweep, "status">) => status === "running" || status === "cancelling";

/** Newest first; polled while one runs. */
export const sweepsQuery = infiniteQueryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: ({ pageParam }) =>
    unwrap(http.GET("/api/v1/sweeps", { params: { query: { limit: PAGE, after: pageParam } } })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => page.next_cursor ?? undefined,
  refetchInterval: ({ state }) =>
    state.data?.pages.some((page) => page.data.some(isOpen)) ? 2 * POLL_MS : false,
});

/** Again and again while it runs. */
export const sweepQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "one", id],
    queryFn: () => unwrap(http.GET("/api/v1/sweeps/{id}", path(id))),
    refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? POLL_MS : false),
  });

export function useCancelSweep() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.POST("/api/v1/sweeps/{id}/cancel", path(id))),
    onSuccess: (now) => {
      client.setQueryData(sweepQuery(now.id).queryKey, now);
      return client.invalidateQueries({ queryKey: [...ROOM, "list"] });
    },
  });
}

const seedsOf = ({ seeds }: SweepBody) => (Array.isArray(seeds) ? seeds.length : Number(seeds ?? 1));

/** Problems, number of jobs and the first of them; the last response stays during the next request. */
export const sweepCheckQuery = (body: SweepBody) =>
  queryOptions({
    queryKey: [...ROOM, "check", body],
    queryFn: async ({ signal }): Promise<CheckedSweep> => {
      const check = await unwrap(http.POST("/api/v1/sweeps/check", { body: { ...body }, signal }));
      return { ...check, seeds: seedsOf(body) };
    },
    placeholderData: keepPreviousData,
    staleTime: 10_000,
    gcTime: 60_000,
  });

/** The check of these values, from the cache while it is fresh. */
export function useSweepCheck() {
  const client = useQueryClient();
  return useMutation({ mutationFn: (body: SweepBody) => client.fetchQuery(sweepCheckQuery(body)) });
}

export function useCreateSweep() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: SweepBody) =>
      unwrap(http.POST("/api/v1/sweeps", { body: body as Schemas["SweepSpec"] })),
    onSuccess: () => client.invalidateQueries({ queryKey: [...ROOM, "list"] }),
  });
}
