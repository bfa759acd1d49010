import type { JobDefault, JobDefaults } from "@/api/job-defaults";
import { duration, range, roughly } from "@/lib/format";
import { getAt, type Json, same, setAt, unsetAt } from "@/lib/paths";
import { complaint, type Field } from "@/lib/spec-fields";
import { valueText } from "@/lib/spec-values";
import { type Basis, type Draft, datasetOf, modelOf, toSpec } from "../draft";
import { SIZES } from "./sizes";

export type Suggested = JobDefaults | undefined;

export const suggestionOf = (suggested: Suggested, path: string): JobDefault | undefined =>
  suggested?.data.find(({ field }) => field === path);

/** `auto` with what it becomes: `auto (transformers)`. */
const autoValue = ({ value, becomes }: JobDefault) =>
  becomes == null ? valueText(value) : `${valueText(value)} (${valueText(becomes)})`;

/** Placeholder of an empty field with the suggestion `auto`. */
export function autoOf(suggested: Suggested, path: string): string | undefined {
  const suggestion = suggestionOf(suggested, path);
  return suggestion?.becomes == null ? undefined : autoValue(suggestion);
}

/** What is asked about: the draft without faulty values; null until it has a model and a dataset. */
export function request(basis: Basis, draft: Draft, fields: readonly Field[]): Draft | null {
  if (!modelOf(draft) || !datasetOf(draft)) return null;
  let valid = draft;
  for (const field of fields) {
    if (field.value !== undefined && complaint(field) !== null) valid = unsetAt(valid, field.path);
  }
  // A size that is set to the server's own default is not left to the suggestion.
  let spec = toSpec(basis, valid);
  for (const path of SIZES) {
    const value = getAt(valid, path);
    if (value !== undefined) spec = setAt(spec, path, value);
  }
  const { name: _, metadata: __, ...rest } = spec as Record<string, Json>;
  return rest;
}

/** The draft with the suggested sizes where it has none. */
export function withSuggested(draft: Draft, suggested: Suggested): Draft {
  let next = draft;
  for (const path of SIZES) {
    const value = suggestionOf(suggested, path)?.value;
    if (value !== undefined && getAt(next, path) === undefined) next = setAt(next, path, value);
  }
  return next;
}

/** Fields whose default is the suggestion. */
export const withFallbacks = (fields: readonly Field[], suggested: Suggested): readonly Field[] =>
  suggested === undefined
    ? fields
    : fields.map((field) => {
        const suggestion = suggestionOf(suggested, field.path);
        return suggestion && suggestion.becomes == null ? { ...field, fallback: suggestion.value } : field;
      });

/** They change nothing in training. */
const LABELS = ["name", "metadata", "export"] as const;

/** Whether two specifications train the same, but for sizes that the draft leaves to the suggestions. */
export function sameButSuggested(one: Draft, other: Draft, draft: Draft): boolean {
  const open = SIZES.filter((path) => getAt(draft, path) === undefined);
  const plain = (spec: Draft) => [...open, ...LABELS].reduce((rest, path) => unsetAt(rest, path), spec);
  return same(plain(one), plain(other));
}

export type TimeWords = { text: string; note: string | null; reason: string };

/** `Estimated time: about 4 min`, `3–7 min · 2.1 s per step`; null without any answer. */
export function timeWords(suggested: Suggested): TimeWords | null {
  if (!suggested) return null;
  const { estimate, estimate_note: note } = suggested;
  if (!estimate) return { text: note ?? "No estimate yet.", note: null, reason: "" };
  const { seconds, seconds_per_step: step } = estimate;
  const text = `Estimated time: about ${roughly(seconds.expected)}`;
  const between = range(seconds.low, seconds.high);
  const parts = [...(text.endsWith(between) ? [] : [between]), `${duration(step.expected)} per step`];
  return { text, note: parts.join(" · "), reason: estimate.reason };
}
