import { queryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type Adapter = Schemas["Adapter"];

export const adaptersQuery = queryOptions({
  queryKey: ["adapters", "list"],
  queryFn: () => unwrap(http.GET("/api/v1/adapters", { params: { query: { limit: 100 } } })),
});

/** The job has a better checkpoint than its final one, which the adapter is. */
export const betterThan = ({ best, step }: Adapter) => (best && best.step !== step ? best : null);

/** No checkpoint of its job is better than the base. */
export const isBelowBase = ({ best, base_reward, held_out_reward }: Adapter) =>
  !best && base_reward != null && held_out_reward !== null && held_out_reward <= base_reward;

/** A plain link: the browser streams the file to disk by itself. */
export const adapterDownloadUrl = (id: string) => `/api/v1/adapters/${encodeURIComponent(id)}/download`;

/** The adapter as it was after a step, packed like an adapter of a finished job. */
export const checkpointDownloadUrl = (job: string, step: number) =>
  `/api/v1/jobs/${encodeURIComponent(job)}/checkpoints/${step}/download`;
