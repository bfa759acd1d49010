import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";
import { meQuery } from "./session";

export type Project = Schemas["ProjectAccess"];

/** Projects that the person is of, by name. */
export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: () => unwrap(http.GET("/api/v1/projects")),
  staleTime: 60_000,
});

const OTHER_TABS = "reinforge-project";

/** Switches the project: all cached data is of the previous one. */
export function startOver(): void {
  new BroadcastChannel(OTHER_TABS).postMessage("switched");
  window.location.assign("/");
}

/** Follows a switch in another tab of this browser: the session is one for all of them. */
export function followOtherTabs(): () => void {
  const channel = new BroadcastChannel(OTHER_TABS);
  channel.onmessage = () => window.location.assign("/");
  return () => channel.close();
}

export function useSwitchProject() {
  return useMutation({
    mutationFn: (id: string) =>
      unwrap(http.POST("/api/v1/projects/{id}/switch", { params: { path: { id } } })),
    onSuccess: startOver,
  });
}

/** Makes a project and looks at it. */
export function useCreateProject() {
  return useMutation({
    mutationFn: async (name: string) => {
      const made = await unwrap(http.POST("/api/v1/projects", { body: { name } }));
      await unwrap(http.POST("/api/v1/projects/{id}/switch", { params: { path: { id: made.id } } }));
    },
    onSuccess: startOver,
  });
}

export function useRenameProject() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ id, name }: { id: string; name: string }) => {
      const projects = await client.ensureQueryData(projectsQuery);
      const header = madeFrom(projects.data.find((one) => one.id === id)?.etag ?? "*");
      return unwrap(
        http.PATCH("/api/v1/projects/{id}", { params: { path: { id }, header }, body: { name } }),
      );
    },
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: projectsQuery.queryKey });
      return client.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  });
}

export function useDeleteProject() {
  return useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      unwrap(http.DELETE("/api/v1/projects/{id}", { params: { path: { id } }, body: { name } })),
    onSuccess: startOver,
  });
}
