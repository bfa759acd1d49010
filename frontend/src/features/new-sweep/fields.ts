import { type JobForm, partsOf } from "@/api/job-form";
import { type JsonObject, join } from "@/lib/paths";
import { type Field, fieldsOf } from "@/lib/spec-fields";
import { defaults, type JsonSchema } from "@/lib/spec-schema";

/** Not varied: names and notes of the jobs, and code, which is a reward's revision. */
const EXCLUDED = /^(name|metadata)$|\.source$|^rewards\[\d+\]\.name$/;

/** Where the schema's words are about a single job. */
const DESCRIPTIONS: Record<string, string> = {
  "algorithm.preset":
    "A named algorithm with all its settings, applied before the other settings of the sweep.",
};

/** The fields of the job that a sweep may vary, under the path that it sets. */
export function variableFields(form: JobForm, spec: JsonObject): Map<string, Field> {
  const schema = form.json_schema as JsonSchema;
  const all = fieldsOf(schema, spec, defaults(schema, partsOf(form.presets), spec));
  return new Map(
    all
      .filter(({ kind, path }) => kind !== "fixed" && !EXCLUDED.test(path))
      .map((field) => {
        const path = field.kind === "variant" ? join(field.path, "type") : field.path;
        const description = DESCRIPTIONS[path] ?? field.description;
        return [path, { ...field, path, description }] as const;
      }),
  );
}

export type FieldGroup = { group: string; items: { value: string; label: string }[] };

const TITLES: Record<string, string> = {
  data: "Data",
  rewards: "Rewards",
  algorithm: "Algorithm",
  rollout: "Rollout",
  adapter: "Adapter",
  optimizer: "Optimizer",
  evaluation: "Evaluation",
  limits: "Limits",
};

/** Choices of the search box, by part of the job; fields that are varied already are not among them. */
export function fieldGroups(fields: ReadonlyMap<string, Field>, varied: ReadonlySet<string>): FieldGroup[] {
  const groups = new Map<string, FieldGroup>();
  for (const [path, field] of fields) {
    if (varied.has(path)) continue;
    const part = /^[a-z_]+/.exec(path)?.[0] ?? "";
    const title = TITLES[part] ?? "Job";
    const group = groups.get(title) ?? { group: title, items: [] };
    groups.set(title, group);
    group.items.push({ value: path, label: `${field.label} (${path})` });
  }
  return [...groups.values()];
}

/** Whether every word of the search is in the field's name, path or description. */
export function matches(field: Field | undefined, path: string, search: string): boolean {
  const text = `${field?.label ?? ""} ${path} ${field?.description ?? ""}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/[\s()]+/)
    .every((word) => text.includes(word));
}
