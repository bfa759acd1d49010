/** A search over the completions of a job, in the URL and as the server takes it. */
import type { CompletionSearch, Split } from "@/api/completions";
import { FINISHES, type Finish } from "@/lib/finishes";
import { number } from "@/lib/format";
import { type CallStatus, STATUS } from "@/lib/tool-calls";

export type Sign = "positive" | "negative" | "zero" | "none";
export type Order = "-step" | "step" | "-reward" | "reward" | "-length" | "length";
export type Range = readonly [low: number | undefined, high: number | undefined];

/** How a call ended; `error`: in any way but `ok`. */
export type Outcome = CallStatus | "error";

export type Find = {
  q: string;
  in: Split | undefined;
  steps: Range | undefined;
  reward: Range | undefined;
  length: Range | undefined;
  adv: Sign | undefined;
  finish: Finish | undefined;
  failed: boolean | undefined;
  turns: Range | undefined;
  /** Name of a tool that was called. */
  tool: string | undefined;
  /** How a call ended; with `tool`, a call of it. */
  call: Outcome | undefined;
  order: Order;
};

export const SIGNS: Record<Sign, string> = {
  positive: "better than its group",
  negative: "worse than its group",
  zero: "no different from its group",
  none: "no advantage",
};
export const ORDERS: Record<Order, string> = {
  "-step": "newest first",
  step: "oldest first",
  "-reward": "highest reward first",
  reward: "lowest reward first",
  "-length": "longest first",
  length: "shortest first",
};

export const OUTCOMES: Record<Outcome, string> = { error: "any error", ...STATUS };

export const NO_FIND: Find = {
  q: "",
  in: undefined,
  steps: undefined,
  reward: undefined,
  length: undefined,
  adv: undefined,
  finish: undefined,
  failed: undefined,
  turns: undefined,
  tool: undefined,
  call: undefined,
  order: "-step",
};

const oneOf = <T extends string>(names: Readonly<Record<T, unknown>>, value: unknown): T | undefined =>
  typeof value === "string" && Object.hasOwn(names, value) ? (value as T) : undefined;

const bound = (text: string | undefined) => {
  if (text === undefined || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
};

/** `0.5..1`, `0.5..`, `..1` and plain `1`; undefined for anything else. */
export function readRange(value: unknown): Range | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return [value, value];
  if (typeof value !== "string") return undefined;
  const [from, to, more] = value.split("..");
  if (more !== undefined) return undefined;
  const low = bound(from);
  const high = to === undefined ? low : bound(to);
  return low === undefined && high === undefined ? undefined : [low, high];
}

export function writeRange(range: Range | undefined): string | undefined {
  if (!range || (range[0] === undefined && range[1] === undefined)) return undefined;
  return `${range[0] ?? ""}..${range[1] ?? ""}`;
}

/** From search parameters that anyone may have typed: what makes no sense is left out. */
export function readFind(search: Readonly<Record<string, unknown>>): Find {
  const { q } = search;
  return {
    q: typeof q === "string" ? q.slice(0, 500) : typeof q === "number" ? String(q) : "",
    in: oneOf({ train: 0, held_out: 0 }, search.in),
    steps: readRange(search.steps),
    reward: readRange(search.reward),
    length: readRange(search.length),
    adv: oneOf(SIGNS, search.adv),
    finish: oneOf(FINISHES, search.finish),
    failed: typeof search.failed === "boolean" ? search.failed : undefined,
    turns: readRange(search.turns),
    tool: typeof search.tool === "string" && search.tool !== "" ? search.tool.slice(0, 64) : undefined,
    call: oneOf(OUTCOMES, search.call),
    order: oneOf(ORDERS, search.order) ?? "-step",
  };
}

export function writeFind(find: Find) {
  return {
    q: find.q || undefined,
    in: find.in,
    steps: writeRange(find.steps),
    reward: writeRange(find.reward),
    length: writeRange(find.length),
    adv: find.adv,
    finish: find.finish,
    failed: find.failed,
    turns: writeRange(find.turns),
    tool: find.tool,
    call: find.call,
    order: find.order === "-step" ? undefined : find.order,
  };
}

export function toSearch(find: Find): CompletionSearch {
  const whole = (value: number | undefined) =>
    value === undefined ? undefined : Math.max(0, Math.round(value));
  return {
    q: find.q.trim() || undefined,
    split: find.in,
    step_from: whole(find.steps?.[0]),
    step_to: whole(find.steps?.[1]),
    reward_min: find.reward?.[0],
    reward_max: find.reward?.[1],
    length_min: whole(find.length?.[0]),
    length_max: whole(find.length?.[1]),
    advantage: find.adv,
    finish_reason: find.finish,
    failed: find.failed,
    turns_min: whole(find.turns?.[0]),
    turns_max: whole(find.turns?.[1]),
    tool: find.tool,
    tool_status: find.call,
    sort: find.order,
  };
}

function rangeWords([low, high]: Range): string {
  if (low === undefined) return `≤ ${number(high)}`;
  if (high === undefined) return `≥ ${number(low)}`;
  return low === high ? number(low) : `${number(low)}–${number(high)}`;
}

export type Chip = { key: Exclude<keyof Find, "order">; words: string };

/** What narrows the search, in words; the order does not narrow anything. */
export function chips(find: Find): Chip[] {
  const all: (Chip | false | undefined)[] = [
    find.q.trim() !== "" && { key: "q", words: `“${find.q.trim()}”` },
    find.in && { key: "in", words: find.in === "train" ? "training rows" : "held-out rows" },
    find.steps && { key: "steps", words: `step ${rangeWords(find.steps)}` },
    find.reward && { key: "reward", words: `reward ${rangeWords(find.reward)}` },
    find.adv && { key: "adv", words: SIGNS[find.adv] },
    find.finish && { key: "finish", words: FINISHES[find.finish] },
    find.failed !== undefined && {
      key: "failed",
      words: find.failed ? "reward error" : "no reward error",
    },
    find.length && { key: "length", words: `${rangeWords(find.length)} tokens` },
    find.turns && { key: "turns", words: `${rangeWords(find.turns)} turns` },
    find.tool !== undefined && { key: "tool", words: `calls ${find.tool}` },
    find.call && { key: "call", words: `a call: ${OUTCOMES[find.call]}` },
  ];
  return all.filter((chip) => typeof chip === "object");
}
