import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";

export type Webhook = Schemas["WebhookInfo"];
export type Delivery = Schemas["WebhookDeliveryInfo"];
export type WebhookEvent = NonNullable<Schemas["WebhookCreate"]["events"]>[number];

const ROOM = ["webhooks"] as const;
const PAGE = 20;
const path = (id: string) => ({ params: { path: { id } } });

/** Newest first; for owners. */
export const webhooksQuery = queryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: () => unwrap(http.GET("/api/v1/webhooks", { params: { query: { limit: 100 } } })),
});

/** Deliveries, newest first; polled every 2 s while one waits. */
export const deliveriesQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...ROOM, "deliveries", id],
    queryFn: ({ pageParam }) =>
      unwrap(
        http.GET("/api/v1/webhooks/{id}/deliveries", {
          params: { path: { id }, query: { limit: PAGE, after: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.data.some((one) => one.state === "pending")) ? 2_000 : 15_000,
  });

/** One of them with its body and every try. */
export const deliveryQuery = (id: string, delivery: string) =>
  queryOptions({
    queryKey: [...ROOM, "deliveries", id, delivery],
    queryFn: () =>
      unwrap(http.GET("/api/v1/webhooks/{id}/deliveries/{delivery}", { params: { path: { id, delivery } } })),
    refetchInterval: ({ state }) => (state.data?.state === "pending" ? 2_000 : false),
  });

/** Changes webhooks or deliveries and asks for both again. A secret in an answer is not kept. */
function useChange<In, Out>(change: (input: In) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
    gcTime: 0,
  });
}

/** A new one; the secret that signs is in this answer and nowhere else. */
export const useCreateWebhook = () =>
  useChange((body: Schemas["WebhookCreate"]) => unwrap(http.POST("/api/v1/webhooks", { body })));

/** What is not given stays. */
export const useChangeWebhook = () =>
  useChange(({ id, etag, ...body }: Schemas["WebhookChange"] & { id: string; etag: string }) =>
    unwrap(http.PATCH("/api/v1/webhooks/{id}", { params: { path: { id }, header: madeFrom(etag) }, body })),
  );

export const useDeleteWebhook = () =>
  useChange((id: string) => unwrap(http.DELETE("/api/v1/webhooks/{id}", path(id))));

/** Another secret; for 24 hours the old one signs beside it. */
export const useRotateSecret = () =>
  useChange((id: string) => unwrap(http.POST("/api/v1/webhooks/{id}/rotate-secret", path(id))));

/** Sends a `webhook.test`. */
export const useTestWebhook = () =>
  useChange((id: string) => unwrap(http.POST("/api/v1/webhooks/{id}/test", path(id))));

/** Sends a delivery once more, with the same id and body. */
export const useResend = (id: string) =>
  useChange((delivery: string) =>
    unwrap(
      http.POST("/api/v1/webhooks/{id}/deliveries/{delivery}/resend", {
        params: { path: { id, delivery } },
      }),
    ),
  );
