import type { Dataset, PromptView } from "@/api/datasets";

const ROLES = ["prompt", "messages", "answer"] as const;

export type SuggestedRole = (typeof ROLES)[number];

/** Role and column of what the server suggests, in order. */
export function suggestionOf(dataset: Pick<Dataset, "suggested_columns">): [SuggestedRole, string][] {
  return ROLES.flatMap((role): [SuggestedRole, string][] => {
    const column = dataset.suggested_columns?.[role];
    return column ? [[role, column]] : [];
  });
}

/** The prompt settings with the suggested columns; what is declared stays. */
export function withSuggestion(dataset: Pick<Dataset, "suggested_columns" | "prompt_view">): PromptView {
  const view = dataset.prompt_view ?? {};
  const suggested = Object.entries(dataset.suggested_columns ?? {}).filter(([, column]) => column !== null);
  return { ...view, columns: { ...view.columns, ...Object.fromEntries(suggested) } } as PromptView;
}
