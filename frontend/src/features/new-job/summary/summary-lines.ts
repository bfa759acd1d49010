import type { JobCheck } from "@/api/job-form";
import { count, NOTHING, number } from "@/lib/format";
import { jailName } from "@/lib/jail";
import type { Json } from "@/lib/paths";

/** `JobCheck.facts`: what the check counted. Everything may be missing. */
export type Facts = {
  rows?: number | null;
  training_rows?: number | null;
  held_out_rows?: number | null;
  completions_per_step?: number | null;
  completions?: number | null;
  epochs?: number | null;
  longest_prompt_tokens?: number | null;
  prompt_limit?: number | null;
  jail?: string | null;
};

export type Line = { name: string; text: string; note?: string; bad?: boolean };

/**
 * Warnings of both checks. The full check gets a part of the specification, with defaults in place of the rest: only
 * what a worker found counts.
 */
export const checkWarnings = (quick: JobCheck | undefined, full: JobCheck | undefined): string[] => [
  ...new Set([...(quick?.warnings ?? []), ...(full?.worker_warnings ?? [])]),
];

type Sizes = {
  facts: Facts;
  rows: number | undefined;
  steps: Json | undefined;
  prompts: Json | undefined;
  completions: Json | undefined;
};

const product = (...values: (Json | undefined)[]) => {
  const result = values.reduce<number>(
    (so_far, one) => so_far * (typeof one === "number" ? one : Number.NaN),
    1,
  );
  return Number.isFinite(result) ? result : null;
};

/** Counts of the summary, one line each whatever is known, so that Start stays in place: the server's if they are there, else computed from the form. */
export function summaryLines({ facts, rows, steps, prompts, completions }: Sizes): Line[] {
  const perStep = facts.completions_per_step ?? product(prompts, completions);
  const all = facts.completions ?? product(steps, prompts, completions);
  const { longest_prompt_tokens: longest, prompt_limit: limit } = facts;
  return [
    {
      name: "Training rows",
      text:
        facts.training_rows != null
          ? number(facts.training_rows)
          : rows != null
            ? `${number(rows)} total`
            : NOTHING,
    },
    { name: "Held-out rows", text: facts.held_out_rows != null ? number(facts.held_out_rows) : NOTHING },
    {
      name: "Completions per step",
      text: perStep === null ? NOTHING : number(perStep),
      note: `${number(Number(prompts))} prompts × ${number(Number(completions))}`,
    },
    { name: "Total completions", text: all === null ? NOTHING : count(all, "completion") },
    {
      name: "Epochs",
      text:
        facts.epochs != null
          ? `${number(facts.epochs)}${facts.epochs < 1 ? ", some rows unused" : ""}`
          : NOTHING,
    },
    {
      name: "Longest prompt",
      text:
        longest != null && limit != null
          ? `${number(longest)} of ${count(limit, "token")}`
          : longest != null
            ? count(longest, "token")
            : NOTHING,
      bad: longest != null && limit != null && longest > limit,
    },
    { name: "Reward sandbox", text: facts.jail ? jailName(facts.jail) : NOTHING },
  ];
}
