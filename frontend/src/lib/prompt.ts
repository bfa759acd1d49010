/**
 * From a row to its chat messages, as `reinforge.dataset.prompts` does it on the server. The page needs it to
 * complete and check a template while it is typed, and to send a row's prompt along when a reward is tried; what a
 * model really reads is rendered by the server.
 */

export type Row = Readonly<Record<string, unknown>>;
export type Message = { role: string; content: string };

export type PromptView = {
  columns?: {
    prompt?: string | null;
    messages?: string | null;
    answer?: string | null;
    slice?: string | null;
  };
  prompt_template?: string | null;
  system_prompt?: string | null;
};

/** `{column}` at `from`–`to` of the template. */
export type Placeholder = { column: string; from: number; to: number };
export type TemplateProblem = { from: number; to: number; message: string };
export type Template = { literals: string[]; placeholders: Placeholder[]; problems: TemplateProblem[] };

const PIECE = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

/** `{column}` is a placeholder, `{{` and `}}` are braces; `literals` stand around the placeholders. */
export function parseTemplate(text: string): Template {
  const literals = [""];
  const placeholders: Placeholder[] = [];
  const problems: TemplateProblem[] = [];
  let end = 0;
  const add = (piece: string) => {
    literals[literals.length - 1] += piece;
  };
  for (const match of text.matchAll(PIECE)) {
    const [whole, column] = match;
    add(text.slice(end, match.index));
    end = match.index + whole.length;
    if (whole === "{{" || whole === "}}") add(whole.charAt(0));
    else if (column) {
      placeholders.push({ column, from: match.index, to: end });
      literals.push("");
    } else {
      const message =
        whole === "{}"
          ? "Empty placeholder: enter a column name."
          : `A single ${whole}: a placeholder is {column}; write ${whole}${whole} for a brace.`;
      problems.push({ from: match.index, to: end, message });
    }
  }
  add(text.slice(end));
  return { literals, placeholders, problems };
}

/** What is wrong with a template: its braces, and columns that the dataset lacks. */
export function templateProblems(text: string, columns: readonly string[]): TemplateProblem[] {
  const { placeholders, problems } = parseTemplate(text);
  const unknown = placeholders
    .filter(({ column }) => !columns.includes(column))
    .map(({ column, from, to }) => ({ from, to, message: `There is no column “${column}”.` }));
  return [...problems, ...unknown].sort((a, b) => a.from - b.from);
}

const inserted = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? ""));

export function fillTemplate(text: string, row: Row): string {
  const { literals, placeholders } = parseTemplate(text);
  return literals
    .map((literal, i) => literal + (placeholders[i] ? inserted(row[placeholders[i].column]) : ""))
    .join("");
}

/** The messages of a row, or none where the row has no prompt that can be read. */
export function messagesOf(row: Row, view: PromptView = {}): Message[] {
  const own = ownMessages(row, view);
  const first = own[0];
  if (!view.system_prompt || !first || first.role === "system" || first.role === "developer") return own;
  return [{ role: "system", content: view.system_prompt }, ...own];
}

function ownMessages(row: Row, { columns = {}, prompt_template }: PromptView): Message[] {
  if (prompt_template) return [{ role: "user", content: fillTemplate(prompt_template, row) }];
  const named = columns.messages ?? columns.prompt;
  const value = named ? row[named] : (row.messages ?? row.prompt);
  if (typeof value === "string") return [{ role: "user", content: value }];
  return Array.isArray(value) ? value.filter(isMessage).map(plain) : [];
}

type RawMessage = { role: string; content: unknown };

function isMessage(value: unknown): value is RawMessage {
  return typeof value === "object" && value !== null && typeof (value as RawMessage).role === "string";
}

function plain({ role, content }: RawMessage): Message {
  if (typeof content === "string") return { role, content };
  const parts = Array.isArray(content) ? content : [];
  return { role, content: parts.map((part) => String((part as { text?: unknown })?.text ?? "")).join("\n") };
}

/** The column of a role: what the view names, else what the server would take. */
export function columnOfRole(
  role: "prompt" | "messages" | "answer" | "slice",
  view: PromptView,
  columns: readonly string[],
): string | null {
  const named = view.columns?.[role];
  if (named) return named;
  const isPrompt = role === "prompt" || role === "messages";
  if (isPrompt && (view.prompt_template || view.columns?.messages || view.columns?.prompt)) return null;
  if (role === "messages") return columns.includes("messages") ? "messages" : null;
  if (role === "prompt") return columns.includes("prompt") && !columns.includes("messages") ? "prompt" : null;
  return role === "answer" && columns.includes("answer") ? "answer" : null;
}

/** The column that fills `item.answer`; undefined where `item.answer` is the row's own column. */
const answerColumn = (view: PromptView) => {
  const named = view.columns?.answer;
  return named && named !== "answer" ? named : undefined;
};

/** What a reward reads of a row, as `reinforge.dataset.items` makes it: `answer` is the declared column's value. */
export function itemOf(row: Row, view: PromptView): Row {
  const column = answerColumn(view);
  if (column === undefined) return row;
  const { answer: _, ...item } = row;
  return column in row ? { ...item, answer: row[column] } : item;
}

/** The columns that rewards can read: those of the data, and `answer` where another one is declared as it. */
export function itemColumns<T extends { name: string }>(columns: readonly T[], view: PromptView): T[] {
  const declared = columns.find(({ name }) => name === answerColumn(view));
  if (!declared) return [...columns];
  return [...columns.filter(({ name }) => name !== "answer"), { ...declared, name: "answer" }];
}

/** Any value of a row as text: chat messages as "user: …", all else unchanged. */
export function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  if (Array.isArray(value) && value.length > 0 && value.every(isMessage)) {
    return value.map((message) => `${message.role}: ${plain(message).content}`).join("\n");
  }
  return JSON.stringify(value);
}

const SPECIAL =
  /(<\|[^<>|\n]{1,40}\|>|<｜[^<>\n]{1,40}｜>|<\/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|think)>|\[\/?INST\]|<<\/?SYS>>)/;

/** Rendered text cut at its special tokens: odd positions are special. */
export const specialPieces = (text: string): string[] => text.split(SPECIAL);
