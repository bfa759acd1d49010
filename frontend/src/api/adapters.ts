import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { http, type Schemas, unwrap } from "./client";
import { sendFile, type UploadProgress } from "./upload";

export type Adapter = Schemas["Adapter"];

const ROOM = ["adapters"] as const;

export const adaptersQuery = queryOptions({
  queryKey: [...ROOM, "list"],
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

export type AdapterFiles = { weights: File; config: File; model: string; name: string };

/** Uploads a PEFT adapter, which a worker then checks against its base model. Leaving the form ends it. */
export function useUploadAdapter() {
  const client = useQueryClient();
  const [progress, setProgress] = useState<UploadProgress | null>(null);
  const abort = useRef<AbortController>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const upload = useMutation({
    mutationFn: async ({ weights, config, model, name }: AdapterFiles) => {
      abort.current = new AbortController();
      const fields = { config: await config.text(), model, ...(name && { name }) };
      const { signal } = abort.current;
      return sendFile<Adapter>("/api/v1/adapters", weights, setProgress, signal, fields, "weights");
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
    onSettled: () => setProgress(null),
  });
  return { upload, progress };
}

export function useDeleteAdapter() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(http.DELETE("/api/v1/adapters/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ROOM }),
  });
}
