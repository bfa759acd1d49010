import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";

export type Deployment = Schemas["DeploymentInfo"];
export type Target = Schemas["DeploymentChange"];

const ROOM = ["deployments"] as const;

/** Asked again often while a state is about to change, seldom otherwise: requests come from elsewhere. */
export const deploymentsQuery = queryOptions({
  queryKey: [...ROOM, "list"],
  queryFn: () => unwrap(http.GET("/api/v1/deployments", { params: { query: { limit: 100 } } })),
  refetchInterval: ({ state }) =>
    state.data?.data.some((one) => one.state === "loading" || one.state === "draining" || one.under_way > 0)
      ? 1_000
      : 10_000,
});

function useChange<In, Out>(change: (input: In) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}

const path = (id: string) => ({ params: { path: { id } } });

export const useCreateDeployment = () =>
  useChange((body: Schemas["DeploymentCreate"]) => unwrap(http.POST("/api/v1/deployments", { body })));

/** Other weights behind the same name. */
export const usePointDeployment = () =>
  useChange(({ id, etag, ...body }: Target & { id: string; etag: string }) =>
    unwrap(
      http.PATCH("/api/v1/deployments/{id}", { params: { path: { id }, header: madeFrom(etag) }, body }),
    ),
  );

export const useStartDeployment = () =>
  useChange((id: string) => unwrap(http.POST("/api/v1/deployments/{id}/start", path(id))));

export const useStopDeployment = () =>
  useChange((id: string) => unwrap(http.POST("/api/v1/deployments/{id}/stop", path(id))));

export const useDeleteDeployment = () =>
  useChange((id: string) => unwrap(http.DELETE("/api/v1/deployments/{id}", path(id))));
