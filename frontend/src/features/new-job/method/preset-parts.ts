import type { Preset } from "@/api/job-form";
import { getAt, isObject, type Json, type JsonObject, join, parent, same, unsetAt } from "@/lib/paths";
import { type JsonSchema, merge, pruned } from "@/lib/spec-schema";
import type { Draft } from "../draft";

/** Families in words, in the order of the list. A family that is not named here comes last under its own name. */
const FAMILIES: readonly [string, string][] = [
  ["baselines", "Baselines"],
  ["objectives", "Objectives and clipping"],
  ["credit", "Credit assignment"],
  ["rewards", "Reward combination"],
  ["selections", "Selection of completions"],
  ["agents", "Agents: tools and turns"],
  ["recipes", "Recipes from reports and libraries"],
  ["own", "Plugins installed on the server"],
];

export type Family = { readonly id: string; readonly title: string; readonly presets: readonly Preset[] };

/** Presets in which every word is found, by family; families without any are left out. */
export function searched(presets: readonly Preset[], query: string): readonly Family[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = presets.filter((one) => {
    const { id, title, family, summary, source, needs } = one;
    const text = [id, title, family, summary, source, ...needs].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const order = FAMILIES.map(([id]) => id);
  const others = [...new Set(matching.map((one) => one.family))].filter((id) => !order.includes(id));
  return [...FAMILIES, ...others.map((id): [string, string] => [id, id])]
    .map(([id, title]) => ({ id, title, presets: matching.filter((one) => one.family === id) }))
    .filter((family) => family.presets.length > 0);
}

/** The first sentence: what it does. */
export const firstSentence = (summary: string) => summary.match(/^.*?[.](?=\s|$)/)?.[0] ?? summary;

export type Leaf = readonly [path: string, value: Json];

export function leaves(value: JsonObject, path = ""): Leaf[] {
  return Object.entries(value).flatMap(([key, item]): Leaf[] =>
    isObject(item) ? leaves(item, join(path, key)) : [[join(path, key), item]],
  );
}

/** A part of the job that a preset fills: `loss.aggregation` and `token_mean`. */
export type Filled = { readonly part: string; readonly text: string };

const asText = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));

/** The parts in which a preset differs from what a job has without one. */
export function filled(schema: JsonSchema, plain: JsonObject, preset: Pick<Preset, "algorithm" | "job">) {
  const slots = unsetAt(preset.algorithm as JsonObject, "preset");
  const different = pruned(schema, {}, { algorithm: slots, ...(preset.job as JsonObject) });
  const parts = new Map<string, string[]>();
  for (const [path, value] of leaves(different)) {
    const part = parent(path).replace(/^algorithm\./, "");
    const name = path.slice(path.lastIndexOf(".") + 1);
    if (name === "type" && same(getAt(plain, path), value)) continue;
    parts.set(part, [
      ...(parts.get(part) ?? []),
      name === "type" ? asText(value) : `${name} ${asText(value)}`,
    ]);
  }
  return [...parts].map(([part, texts]): Filled => ({ part, text: texts.join(", ") }));
}

/** The published numbers that are worth a line: not the name of a part that the preset fills anyway. */
export const recipeLines = (recipe: JsonObject) => leaves(recipe).filter(([path]) => !path.endsWith(".type"));

export const usesRecipe = (draft: Draft, recipe: JsonObject) =>
  leaves(recipe).length > 0 && leaves(recipe).every(([path, value]) => same(getAt(draft, path), value));

export const withRecipe = (draft: Draft, recipe: JsonObject) => merge(draft, recipe) as Draft;

export const withoutRecipe = (draft: Draft, recipe: JsonObject) =>
  leaves(recipe).reduce((left, [path]) => unsetAt(left, path), draft);
