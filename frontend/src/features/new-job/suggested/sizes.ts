import { getAt, type Json, type JsonObject, setAt } from "@/lib/paths";

/** Numbers that a job has to state, for the server would fill in the same for every job. */
export const SIZES = [
  "rollout.max_completion_tokens",
  "rollout.completions_per_prompt",
  "rollout.prompts_per_step",
  "limits.steps",
] as const;

/** A fork or copy of a job: its sizes are stated, so that they stay as they were. */
export function withSizes(spec: JsonObject, resolved: Json | null | undefined): JsonObject {
  let next = spec;
  for (const path of SIZES) {
    const value = getAt(resolved ?? undefined, path);
    if (typeof value === "number" && getAt(next, path) === undefined) next = setAt(next, path, value);
  }
  return next;
}
