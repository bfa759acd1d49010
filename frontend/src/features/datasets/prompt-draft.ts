import type { DatasetColumn, PromptView } from "@/api/datasets";
import { columnOfRole, templateProblems } from "@/lib/prompt";

/** The form's state: where the prompt comes from, and which columns play the other parts. */
export type PromptDraft = {
  from: "column" | "template";
  /** The column with text or messages. */
  prompt: string | null;
  answer: string | null;
  slice: string | null;
  template: string;
  system: string;
};

/** The form of a stored view; unset fields show the server's choice. */
export function draftOf(view: PromptView, columns: readonly DatasetColumn[]): PromptDraft {
  const names = columns.map((column) => column.name);
  const role = (name: "prompt" | "messages" | "answer" | "slice") => columnOfRole(name, view, names);
  return {
    from: view.prompt_template ? "template" : "column",
    prompt: role("messages") ?? role("prompt"),
    answer: role("answer"),
    slice: role("slice"),
    template: view.prompt_template ?? "",
    system: view.system_prompt ?? "",
  };
}

/** Request body: a list column holds messages, any other text. */
export function viewOf(draft: PromptDraft, columns: readonly DatasetColumn[]): PromptView {
  const type = columns.find((column) => column.name === draft.prompt)?.type;
  const byColumn = draft.from === "column" ? draft.prompt : null;
  return {
    columns: {
      prompt: type === "list" ? null : byColumn,
      messages: type === "list" ? byColumn : null,
      answer: draft.answer,
      slice: draft.slice,
    },
    prompt_template: draft.from === "template" && draft.template !== "" ? draft.template : null,
    system_prompt: draft.system === "" ? null : draft.system,
  };
}

export const sameDraft = (a: PromptDraft, b: PromptDraft) =>
  (Object.keys(a) as (keyof PromptDraft)[]).every((key) => a[key] === b[key]);

/** Why the draft cannot be rendered or stored yet; null when it can. */
export function faultOf(draft: PromptDraft, columns: readonly DatasetColumn[]): string | null {
  if (draft.from === "column") {
    return draft.prompt === null ? "Choose the column that holds the prompt, or write a template." : null;
  }
  if (draft.template.trim() === "") return "Write the prompt; {column} is replaced by the row's value.";
  const [first] = templateProblems(
    draft.template,
    columns.map((column) => column.name),
  );
  return first?.message ?? null;
}

/** Row numbers from 0, ascending, as people count them: "1–3, 7". At most `most` pieces, then "and 12 more". */
export function rowRanges(rows: readonly number[], most = 40): string {
  const runs: [number, number][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last && row === last[1] + 1) last[1] = row;
    else runs.push([row, row]);
  }
  const visible = runs.slice(0, most);
  const left = runs.slice(most).reduce((sum, [from, to]) => sum + to - from + 1, 0);
  const text = visible
    .map(([from, to]) => (from === to ? `${from + 1}` : `${from + 1}–${to + 1}`))
    .join(", ");
  return left > 0 ? `${text} and ${left} more` : text;
}
