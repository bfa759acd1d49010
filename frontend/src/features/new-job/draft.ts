import type { Dataset } from "@/api/datasets";
import { type JobForm, type JobProblem, type Preset, partsOf } from "@/api/job-form";
import type { JobDetail } from "@/api/jobs";
import type { RewardSummary } from "@/api/rewards";
import { getAt, isObject, type Json, type JsonObject, setAt, unsetAt } from "@/lib/paths";
import { complaint, type Field } from "@/lib/spec-fields";
import { type JsonSchema, type Presets, pruned } from "@/lib/spec-schema";
import { SOURCES, sourcesOf, typeOf } from "./environment/environment";
import { withSizes } from "./suggested/sizes";

/** What was chosen and typed, and nothing else: a specification with holes. Numbers that are none stay text. */
export type Draft = JsonObject;

export const EMPTY: Draft = {};

/** The form's schema and presets in the shapes that the pure functions take. */
export type Basis = { schema: JsonSchema; presets: readonly Preset[]; algorithms: Presets };

export const basisOf = (form: JobForm): Basis => ({
  schema: form.json_schema as JsonSchema,
  presets: form.presets,
  algorithms: partsOf(form.presets),
});

/** The specification that is checked, started and copied: only what differs from the server's defaults. */
export function toSpec(basis: Basis, draft: Draft): Draft {
  return pruned(basis.schema, basis.algorithms, draft);
}

const text = (value: Json | undefined) => (typeof value === "string" ? value : undefined);

export const modelOf = (draft: Draft) => text(draft.model);
export const datasetOf = (draft: Draft) => text(getAt(draft, "data.dataset"));

export type RewardItem = {
  readonly name?: string;
  readonly weight?: Json;
  readonly reward?: string;
  readonly revision?: number;
  readonly source?: string;
  readonly entry?: string;
};

/** A fork's specification states all fields, as null where there is nothing. */
const withoutNulls = (item: JsonObject) =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));

export const rewardsOf = (draft: Draft): readonly RewardItem[] =>
  Array.isArray(draft.rewards)
    ? (draft.rewards.filter(isObject).map(withoutNulls) as unknown as RewardItem[])
    : [];

const PROMPT_PARTS = ["columns", "prompt_template", "system_prompt"] as const;

/** Takes a dataset, and how its rows become prompts as people set it there. Column names of the old one go. */
export function withDataset(draft: Draft, dataset: Dataset | null): Draft {
  let next = draft;
  for (const part of ["dataset", ...PROMPT_PARTS]) next = unsetAt(next, `data.${part}`);
  if (!dataset) return next;
  next = setAt(next, "data.dataset", dataset.id);
  const view = (dataset.prompt_view ?? {}) as JsonObject;
  for (const part of PROMPT_PARTS) {
    const value = view[part];
    const spec = isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one)) : value;
    if (spec && (typeof spec !== "object" || Object.keys(spec).length > 0)) {
      next = setAt(next, `data.${part}`, spec as Json);
    }
  }
  return next;
}

/** A name that rewards may have, free in this draft: letters first, no blanks, at most 64. */
export function rewardName(baseName: string, draft: Draft): string {
  const cleaned = baseName.replace(/\.py$/, "").replace(/[^A-Za-z0-9_.-]+/g, "_");
  const name = (/^[A-Za-z]/.test(cleaned) ? cleaned : `reward_${cleaned}`).replace(/_+$/, "").slice(0, 60);
  const taken = new Set(rewardsOf(draft).map((one) => one.name ?? "reward"));
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name}_${n}`;
  return free;
}

const addReward = (draft: Draft, item: JsonObject): Draft =>
  setAt(draft, "rewards", [...(rewardsOf(draft) as unknown as Json[]), { type: "python", ...item }]);

export const withStored = (draft: Draft, reward: Pick<RewardSummary, "id" | "name" | "kind">): Draft =>
  addReward(draft, {
    ...(reward.kind === "grader" && { type: "grader" }),
    name: rewardName(reward.name, draft),
    reward: reward.id,
  });

export const withSource = (draft: Draft, filename: string, source: string): Draft =>
  addReward(draft, { name: rewardName(filename, draft), source });

/** Takes a preset whole: slots that were changed by hand go back to what it says. */
export function withPreset(draft: Draft, id: string): Draft {
  const updates = getAt(draft, "algorithm.updates_per_step");
  return setAt(draft, "algorithm", {
    preset: id,
    ...(updates === undefined ? {} : { updates_per_step: updates }),
  });
}

/** Another job's specification to start from; without a name, the server calls it by what differs. */
export function fromJob(job: Pick<JobDetail, "spec" | "resolved_spec">): Draft {
  const { metadata: _, name: __, ...spec } = job.spec as Record<string, Json>;
  const draft = withSizes(spec, job.resolved_spec as JsonObject | null | undefined);
  const sources = sourcesOf(draft);
  return sources.length > 0 ? setAt(draft, SOURCES, sources as unknown as Json) : draft;
}

/** Problems that are visible without the server. */
export function ownProblems(draft: Draft, fields: readonly Field[]): JobProblem[] {
  const problems: JobProblem[] = [];
  if (!modelOf(draft)) problems.push({ param: "model", message: "Choose a base model." });
  if (!datasetOf(draft))
    problems.push({ param: "data.dataset", message: "Drop a file or choose a dataset." });
  if (rewardsOf(draft).length === 0) {
    problems.push({ param: "rewards", message: "Choose a reward or drop a .py file." });
  }
  if (typeOf(draft) === "tools" && sourcesOf(draft).length === 0) {
    problems.push({ param: SOURCES, message: "Add a source of tools, or choose a single turn." });
  }
  for (const field of fields) {
    const message = complaint(field);
    if (message) problems.push({ param: field.path, message });
  }
  return problems;
}
