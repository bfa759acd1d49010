import type { Evaluation } from "@/api/evaluations";
import type { Estimate } from "@/lib/bootstrap";
import { count, number, reward, signed } from "@/lib/format";
import { type Difference, METRIC_WORDS, type Row } from "./compare";

/** `0.63 to 0.71`: the middle 95 %. */
export const between = ({ low, high }: Pick<Estimate, "low" | "high">, format = reward) =>
  `${format(low)} to ${format(high)}`;

/** Below so many rows a bootstrap is too sure of itself; the server's number. */
export const FEW_ROWS = 20;

/** What was sampled: "adapter adp_…", "checkpoint ftckpt_…" or the base model alone. */
export function policyWords(one: Evaluation, adapters: ReadonlyMap<string, string> = new Map()): string {
  if (one.adapter) return adapters.get(one.adapter) ?? one.adapter;
  return one.checkpoint ? `${one.model}, checkpoint ${one.checkpoint}` : `${one.model} (base)`;
}

export const titleOf = (one: Evaluation, adapters?: ReadonlyMap<string, string>) =>
  one.name ?? policyWords(one, adapters);

/** What a difference says, in one sentence. */
export function verdict({ metric, rows, change }: Difference, other: string): string {
  const what = METRIC_WORDS[metric][0];
  const on = `on ${count(rows, "common row")}`;
  const interval = `${signed(change.low)} to ${signed(change.high)} at 95% confidence`;
  if (change.low > 0)
    return `${what} is higher than in ${other} by ${reward(change.value)} ${on} (${interval}).`;
  if (change.high < 0)
    return `${what} is lower than in ${other} by ${reward(-change.value)} ${on} (${interval}).`;
  return `${what} differs from ${other} by ${signed(change.value)} ${on}, not significant (${interval}).`;
}

/** How many rows rose, fell and stayed. */
export function movedWords(rows: readonly Row[]): string {
  const changes = rows.flatMap(({ change }) => (change === null ? [] : [change]));
  const rose = changes.filter((one) => one > 0).length;
  const fell = changes.filter((one) => one < 0).length;
  return `${count(rose, "row")} better, ${number(fell, 6)} worse, ${number(changes.length - rose - fell, 6)} the same.`;
}

/** Why two evaluations are not measured alike; empty when they are. */
export function unlike(one: Evaluation, other: Evaluation): string[] {
  const settings: [string, unknown, unknown][] = [
    ["dataset", one.dataset, other.dataset],
    ["reward", one.stored ?? one.reward, other.stored ?? other.reward],
    ["revision of the reward", one.revision, other.revision],
    ["samples per row", one.settings?.samples_per_row, other.settings?.samples_per_row],
    ["temperature", one.settings?.temperature, other.settings?.temperature],
    ["top p", one.settings?.top_p, other.settings?.top_p],
    ["max tokens", one.settings?.max_tokens, other.settings?.max_tokens],
  ];
  return settings.filter(([, here, there]) => (here ?? null) !== (there ?? null)).map(([name]) => name);
}
