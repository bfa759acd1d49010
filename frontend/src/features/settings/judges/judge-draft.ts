import type { Judge, JudgeChange, NewJudge } from "@/api/judges";
import { parseNumber } from "@/lib/spec-values";

type Problem = Error & {
  param?: string | null;
  errors?: readonly { param?: string | null; message: string }[];
};

export const NUMBERS = ["input_price", "output_price", "concurrency", "timeout_seconds", "retries"] as const;
type NumberName = (typeof NUMBERS)[number];

/** Values of the form. Numbers are text; empty is the server's default, or the stored value. */
export type JudgeDraft = {
  name: string;
  base_url: string;
  model: string;
  /** Empty: none is given, and a stored one stays. */
  key: string;
  dropKey: boolean;
  structured: Judge["structured"];
} & Record<NumberName, string>;

export const DEFAULTS: Readonly<Record<NumberName, string>> = {
  input_price: "0",
  output_price: "0",
  concurrency: "8",
  timeout_seconds: "120",
  retries: "4",
};

export function draftOf(judge: Judge | undefined): JudgeDraft {
  const numbers = NUMBERS.map((name) => [name, judge ? String(judge[name]) : ""]);
  return {
    name: judge?.name ?? "",
    base_url: judge?.base_url ?? "",
    model: judge?.model ?? "",
    key: "",
    dropKey: false,
    structured: judge?.structured ?? "json_schema",
    ...(Object.fromEntries(numbers) as Record<NumberName, string>),
  };
}

/** A text that is no number goes as it is: the server says what is wrong with it. */
const fields = (draft: JudgeDraft) =>
  Object.fromEntries(
    NUMBERS.map((name) => [name, parseNumber(draft[name])]).filter(([, value]) => value !== undefined),
  ) as Partial<Record<NumberName, number>>;

export const toJudge = (draft: JudgeDraft): NewJudge =>
  ({
    name: draft.name.trim(),
    base_url: draft.base_url.trim(),
    model: draft.model.trim(),
    structured: draft.structured,
    ...(draft.key !== "" && { api_key: draft.key }),
    ...fields(draft),
  }) as NewJudge;

/** Changed fields only; an untyped key is omitted. */
export function toChange(draft: JudgeDraft, judge: Judge): JudgeChange {
  const { name: _, ...now } = toJudge(draft);
  const changed = Object.entries(now).filter(([key, value]) => judge[key as keyof Judge] !== value);
  const change = Object.fromEntries(changed) as JudgeChange;
  return draft.dropKey ? { ...change, api_key: null } : change;
}

/** What the server said of each field; what is of no field of the form is under "". */
export function faultsOf(error: Problem | null): Record<string, string> {
  if (!error) return {};
  const fields = new Set<string>(["name", "base_url", "model", "api_key", "structured", ...NUMBERS]);
  const listed = (error.errors ?? []).filter((one) => one.param);
  const all = listed.length > 0 ? listed : [{ param: error.param, message: error.message }];
  const faults: Record<string, string> = {};
  for (const { param, message } of all) {
    const field = param && fields.has(param) ? param : "";
    const text = message.replace(`${param}: `, "");
    faults[field] ??= text.charAt(0).toUpperCase() + text.slice(1);
  }
  return faults;
}
