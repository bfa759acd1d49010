import { useQuery } from "@tanstack/react-query";
import { distinctNames } from "@/lib/distinct-names";
import { reward } from "@/lib/format";
import { type Adapter, adaptersQuery, betterThan, isBelowBase } from "./adapters";
import { type Checkpoint, checkpointsQuery, type JobDetail, jobQuery } from "./jobs";
import { modelsQuery } from "./models";

/** Weights, as requests name them. */
export type Target = { adapter: string } | { checkpoint: string } | { model: string };

/** Weights that can be deployed or evaluated; `value` is their id. */
export type Choice = { value: string; label: string; group: string };

/** Choices under their groups, as a select takes them. */
export const grouped = (choices: readonly Choice[] | undefined) =>
  [...new Set(choices?.map(({ group }) => group))].map((group) => ({
    group,
    items: (choices ?? []).filter((one) => one.group === group).map(({ value, label }) => ({ value, label })),
  }));

/** The id as the API wants it: ids say what they are of. */
export function targetOf(id: string): Target {
  if (id.startsWith("adp_")) return { adapter: id };
  return id.startsWith("ftckpt_") ? { checkpoint: id } : { model: id };
}

/** What a job offers: its best checkpoint first, the final one after it. */
export function choicesOf(adapter: Adapter): Choice[] {
  const { id, name, step, model, held_out_reward: value } = adapter;
  const better = betterThan(adapter);
  const mark = isBelowBase(adapter) ? ", not better than base" : adapter.best && !better ? ", best" : "";
  const measured = (one: number | null) => (one === null ? "" : ` · ${reward(one)}`);
  const final = {
    value: id,
    label: `${name} · step ${step}${mark}${measured(value)} · ${model}`,
    group: "Adapters",
  };
  if (!better) return [final];
  const label = `${name} · step ${better.step}, best${measured(better.held_out_reward)} · ${model}`;
  return [{ value: better.id, label, group: "Adapters" }, final];
}

/** A checkpoint that no adapter offers, by the name of its job where that is loaded. */
export function choiceOfCheckpoint(
  id: string,
  job: Pick<JobDetail, "name" | "model"> | undefined,
  checkpoint: Pick<Checkpoint, "step" | "held_out_reward"> | undefined,
): Choice {
  if (!job || !checkpoint) return { value: id, label: `Checkpoint ${id}`, group: "Selected" };
  const { step, held_out_reward: value } = checkpoint;
  const measured = value === null ? "" : ` · ${reward(value)}`;
  return { value: id, label: `${job.name} · step ${step}${measured} · ${job.model}`, group: "Selected" };
}

/** Weights of finished jobs and base models; another checkpoint only on the way from its page, which names its job. */
export function useChoices(from: string | undefined, jobId?: string | undefined): Choice[] | undefined {
  const adapters = useQuery(adaptersQuery).data?.data;
  const models = useQuery(modelsQuery).data?.data;
  const job = useQuery({ ...jobQuery(jobId ?? ""), enabled: jobId !== undefined });
  const checkpoints = useQuery({ ...checkpointsQuery(jobId ?? ""), enabled: jobId !== undefined });
  if (!adapters || !models || (jobId !== undefined && (job.isPending || checkpoints.isPending)))
    return undefined;
  const names = distinctNames(adapters);
  const ofJobs = adapters.flatMap((one) => choicesOf({ ...one, name: names.get(one.id) ?? one.name }));
  const checkpoint = checkpoints.data?.data.find(({ id }) => id === from);
  return [
    ...(from?.startsWith("ftckpt_") && !ofJobs.some(({ value }) => value === from)
      ? [choiceOfCheckpoint(from, job.data, checkpoint)]
      : []),
    ...ofJobs,
    ...models
      .filter(({ status }) => status === "ready")
      .map(({ id }) => ({ value: id, label: id, group: "Base models" })),
  ];
}
