import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";

export type NotificationSettings = Schemas["Notifications"];
export type NotificationEvent = Schemas["NotificationsUpdate"]["events"][number];

const REFRESH_MS = 5000;

/** Also a link that was opened in another tab confirms the address. */
export const notificationsQuery = queryOptions({
  queryKey: ["me", "notifications"],
  queryFn: () => unwrap(http.GET("/api/v1/me/notifications")),
  refetchInterval: ({ state: { data } }) =>
    data && !data.confirmed && data.confirmation !== "none" ? REFRESH_MS : false,
});

export function useSaveNotifications() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ events, etag }: { events: NotificationEvent[]; etag: string }) =>
      unwrap(
        http.PATCH("/api/v1/me/notifications", { params: { header: madeFrom(etag) }, body: { events } }),
      ),
    onSettled: () => client.invalidateQueries({ queryKey: notificationsQuery.queryKey }),
  });
}

export function useSendConfirmation() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/me/notifications/confirmation")),
    onSettled: () => client.invalidateQueries({ queryKey: notificationsQuery.queryKey }),
  });
}
