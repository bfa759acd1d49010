import { useQuery } from "@tanstack/react-query";
import { adaptersQuery } from "./adapters";
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

/** Adapters and base models; a checkpoint only where it was come from. */
export function useChoices(from: string | undefined): Choice[] | undefined {
  const adapters = useQuery(adaptersQuery).data?.data;
  const models = useQuery(modelsQuery).data?.data;
  if (!adapters || !models) return undefined;
  return [
    ...(from?.startsWith("ftckpt_") ? [{ value: from, label: `Checkpoint ${from}`, group: "Chosen" }] : []),
    ...adapters.map(({ id, name, step, model }) => ({
      value: id,
      label: `${name} · step ${step} · ${model}`,
      group: "Adapters",
    })),
    ...models
      .filter(({ status }) => status === "ready")
      .map(({ id }) => ({ value: id, label: id, group: "Base models" })),
  ];
}
