/** Which prompts of a job are listed, in the address. */
import type { Split } from "@/api/completions";
import type { PromptCategory, PromptFilter, PromptSort } from "@/api/job-prompts";

export const CATEGORIES: Record<PromptCategory, { label: string; meaning: string }> = {
  never_solved: { label: "Never solved", meaning: "No completion passed at any step." },
  newly_lost: {
    label: "Newly lost",
    meaning: "Half of the completions or more passed in an earlier draw; in the last two draws none passed.",
  },
  won: {
    label: "Won",
    meaning: "No completion passed in the first draw; in the last two draws half or more passed.",
  },
  most_variable: {
    label: "Most variable",
    meaning: "The tenth of the prompts in no other category whose mean rewards vary most between draws.",
  },
};

export const SORTS: Partial<Record<PromptSort, string>> = {
  row: "Dataset order",
  pass_share: "Lowest pass rate first",
  "-pass_share": "Highest pass rate first",
  change: "Largest decrease first",
  "-change": "Largest increase first",
  "-variance": "Most variable first",
  "-draws": "Most draws first",
};

export type PromptsPlace = {
  split: Split;
  category: PromptCategory | undefined;
  sort: PromptSort;
  text: string;
};

const named = <T extends string>(names: Readonly<Partial<Record<T, unknown>>>, value: unknown) =>
  typeof value === "string" && Object.hasOwn(names, value) ? (value as T) : undefined;

/** From search parameters that anyone may have typed: what makes no sense is left out. */
export function readPrompts(search: Readonly<Record<string, unknown>>): PromptsPlace {
  const { prompt_q: text } = search;
  return {
    split: search.split === "held_out" ? "held_out" : "train",
    category: named(CATEGORIES, search.prompts),
    sort: named<PromptSort>(SORTS, search.prompt_sort) ?? "row",
    text: typeof text === "string" ? text.slice(0, 500) : typeof text === "number" ? String(text) : "",
  };
}

/** As search parameters; what is as usual is left out. */
export const writePrompts = ({ split, category, sort, text }: PromptsPlace) => ({
  split: split === "train" ? undefined : split,
  prompts: category,
  prompt_sort: sort === "row" ? undefined : sort,
  prompt_q: text || undefined,
});

/** The search parameters of the list, checked. */
export type PromptsSearch = Partial<Omit<ReturnType<typeof writePrompts>, "split">>;
export const promptsSearch = (search: Readonly<Record<string, unknown>>): PromptsSearch => {
  const { split: _, ...rest } = writePrompts(readPrompts(search));
  return rest;
};

export const toFilter = ({ split, category, sort, text }: PromptsPlace): PromptFilter => ({
  split,
  category,
  sort,
  q: text || undefined,
});
