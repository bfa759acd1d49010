import { type Field, label } from "@/lib/spec-fields";

export type Group = { key: string; title: string; fields: Field[] };

/** Fields that are chosen in a section above, not typed here. */
export const CHOSEN_ABOVE: Record<string, string> = {
  model: "model",
  "data.dataset": "data",
};

const TITLES: Record<string, string> = {
  "": "Job",
  data: "Data",
  environment: "Environment",
  algorithm: "Algorithm",
  rollout: "Sampling",
  base: "Base model",
  adapter: "Adapter",
  optimizer: "Optimizer",
  evaluation: "Evaluation",
  limits: "Limits",
};

const groupKey = (path: string) => path.match(/^rewards\[\d+\]|^[a-z_]+(?=\.)/)?.[0] ?? "";

/** Fields that match every word of a search, in the path, the label or the explanation. */
export function search(fields: readonly Field[], query: string): Field[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return fields.filter((field) => {
    const text = `${field.path} ${field.label} ${field.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Fields under headings, in the schema's order; what belongs to no part comes first. */
export function grouped(fields: readonly Field[], rewardNames: readonly string[]): Group[] {
  const groups = new Map<string, Group>();
  for (const field of fields) {
    const key = groupKey(field.path);
    const index = key.match(/^rewards\[(\d+)\]/)?.[1];
    const title =
      index === undefined ? (TITLES[key] ?? label(key)) : `Reward “${rewardNames[Number(index)] ?? index}”`;
    const group = groups.get(key) ?? { key, title, fields: [] };
    group.fields.push(field);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => Number(b.key === "") - Number(a.key === ""));
}
