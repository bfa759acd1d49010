import type { Dataset, PromptView } from "@/api/datasets";

const ROLES = [
  ["Prompt", "prompt"],
  ["Messages", "messages"],
  ["Answer", "answer"],
] as const;

/** Role and column of what the server suggests, in order. */
export function suggestionOf(dataset: Pick<Dataset, "suggested_columns">): [string, string][] {
  return ROLES.flatMap(([title, role]): [string, string][] => {
    const column = dataset.suggested_columns?.[role];
    return column ? [[title, column]] : [];
  });
}

/** The prompt settings with the suggested columns; what is declared stays. */
export function withSuggestion(dataset: Pick<Dataset, "suggested_columns" | "prompt_view">): PromptView {
  const view = dataset.prompt_view ?? {};
  const suggested = Object.entries(dataset.suggested_columns ?? {}).filter(([, column]) => column !== null);
  return { ...view, columns: { ...view.columns, ...Object.fromEntries(suggested) } } as PromptView;
}
