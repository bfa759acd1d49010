import type { JobFork } from "@/api/forks";
import type { JobChange } from "@/api/job-changes";
import { getAt, type Json, type JsonObject } from "@/lib/paths";

/** What a person has filled in: empty fields stay as they are in the other job. */
export type ForkDraft = {
  name: string;
  preset: string;
  reward: string;
  numbers: Readonly<Record<string, Json | undefined>>;
};

export const EMPTY: ForkDraft = { name: "", preset: "", reward: "", numbers: {} };

/** Something was typed that is no number. */
export const isWrong = (value: Json | undefined) => value !== undefined && typeof value !== "number";

/** The request; null while one of the fields holds no number. */
export function forkBody(step: number, draft: ForkDraft, rewardName: string): JobFork | null {
  const numbers = Object.entries(draft.numbers).filter(([, value]) => value !== undefined);
  if (numbers.some(([, value]) => isWrong(value))) return null;
  const set: Record<string, unknown> = {};
  if (draft.preset) set["algorithm.preset"] = draft.preset;
  if (draft.reward) set.rewards = [{ name: rewardName, reward: draft.reward }];
  for (const [path, value] of numbers) set[path] = value;
  return { step, name: draft.name.trim() || null, set };
}

/** A number of the specification as it was at work in a step, with what was changed by then. */
export function valueAt(
  spec: JsonObject,
  changes: readonly JobChange[],
  path: string,
  step: number,
): Json | undefined {
  const last = changes
    .filter((one) => one.setting === path && one.step != null && one.step <= step)
    .toSorted((a, b) => (a.step ?? 0) - (b.step ?? 0))
    .at(-1);
  return last ? (last.value ?? undefined) : getAt(spec, path);
}
