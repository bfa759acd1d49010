import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { datasetQuery, datasetRowsQuery, renderedQuery, splitQuery } from "@/api/datasets";
import type { JobDetail } from "@/api/jobs";
import { getAt, type JsonObject } from "@/lib/paths";
import { itemOf, type PromptView } from "@/lib/prompt";
import { type Message, promptOf } from "./talk";

export type Row = {
  before: Message[];
  prompt: string;
  answer: string | null;
  item: Record<string, unknown>;
  index: number;
};

/** Prompts of the rows that a job never trained on, rendered the way the job did; in the order of the held-out rows. */
export function useRows(job: JobDetail | undefined) {
  const client = useQueryClient();
  const [at, setAt] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const spec = (job?.resolved_spec ?? job?.spec ?? {}) as JsonObject;
  const text = (path: string) => {
    const value = getAt(spec, path);
    return typeof value === "string" ? value : undefined;
  };
  const count = (path: string) => {
    const value = getAt(spec, path);
    return typeof value === "number" ? value : undefined;
  };
  const dataset = text("data.dataset") ?? "";
  const other = text("data.held_out");
  const heldOutDataset = useQuery({ ...datasetQuery(other ?? ""), enabled: other !== undefined });
  const split = useQuery({
    ...splitQuery(
      dataset,
      count("seed") ?? 0,
      count("data.held_out_rows"),
      text("data.split_by") === "prompt" ? "prompt" : "row",
    ),
    enabled: dataset !== "" && other === undefined,
  });
  const total =
    other === undefined ? (split.data?.held_out_rows.length ?? 0) : (heldOutDataset.data?.rows ?? 0);

  const take = async (step: number): Promise<Row | null> => {
    if (total === 0 || !job) return null;
    const place = (((at + step) % total) + total) % total;
    const index = other === undefined ? (split.data?.held_out_rows[place] ?? 0) : place;
    setAt(place);
    setBusy(true);
    try {
      const body = {
        columns: (getAt(spec, "data.columns") ?? {}) as object,
        prompt_template: text("data.prompt_template"),
        system_prompt: text("data.system_prompt"),
        model: job.model,
        offset: index,
        limit: 1,
      };
      const query = renderedQuery(other ?? dataset, body as Parameters<typeof renderedQuery>[1]);
      const { queryKey, queryFn, staleTime } = query;
      const { data } = await client.fetchQuery({ queryKey, queryFn, staleTime });
      const own = datasetRowsQuery(other ?? dataset, index, 1);
      const raw = await client.fetchQuery({
        queryKey: own.queryKey,
        queryFn: own.queryFn,
        staleTime: Number.POSITIVE_INFINITY,
      });
      const [row] = data;
      const item = itemOf(raw.data[0] ?? {}, body as PromptView);
      const prompt = promptOf((row?.messages ?? []) as Message[]);
      setProblem(prompt ? null : (row?.error ?? `Row ${index} does not end with a user message.`));
      return prompt && { ...prompt, answer: row?.answer ?? null, item, index };
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return null;
    } finally {
      setBusy(false);
    }
  };
  return { total, place: at, take, busy, problem };
}
