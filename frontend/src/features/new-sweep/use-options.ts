import { useQuery } from "@tanstack/react-query";
import { datasetsQuery } from "@/api/datasets";
import { modelsQuery } from "@/api/models";
import type { Field } from "@/lib/spec-fields";
import { useSweepForm } from "./form";

export type Option = { value: string; label: string };

const DATASETS = new Set(["data.dataset", "data.held_out"]);

/** The values that a field can have, where these are few; null for numbers and free text. */
export function useOptions(field: Field | undefined): Option[] | null {
  const { presets } = useSweepForm();
  const path = field?.path ?? "";
  const datasets = useQuery({ ...datasetsQuery, enabled: DATASETS.has(path) }).data?.data;
  const models = useQuery({ ...modelsQuery, enabled: path === "model" }).data?.data;
  if (DATASETS.has(path)) return (datasets ?? []).map(({ id, name }) => ({ value: id, label: name }));
  if (path === "model") return (models ?? []).map(({ id }) => ({ value: id, label: id }));
  if (path === "algorithm.preset") return presets.map(({ id, title }) => ({ value: id, label: title }));
  if (field?.kind === "boolean") return ["true", "false"].map((value) => ({ value, label: value }));
  if (field?.kind !== "choice" && field?.kind !== "variant") return null;
  return field.options.map(({ value }) => ({ value, label: value }));
}
