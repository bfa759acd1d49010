import type { RowScores } from "@/api/evaluations";
import { type Estimate, estimate } from "@/lib/bootstrap";

/** One row: its completions' mean reward, and beside another evaluation the other's and the difference. */
export type Row = {
  row: number;
  /** Beginnings of prompt and reference answer; null in older evaluations. */
  prompt: string | null;
  answer: string | null;
  rewards: readonly (number | null)[];
  mean: number | null;
  other: number | null;
  change: number | null;
};

export const METRICS = ["eval/reward", "eval/pass_rate", "eval/pass_any"] as const;
export type Metric = (typeof METRICS)[number];

export const METRIC_WORDS: Record<Metric, [title: string, about: string]> = {
  "eval/reward": ["Mean reward", "over rows"],
  "eval/pass_rate": ["Pass rate", "completions that pass"],
  "eval/pass_any": ["Rows passed", "at least one completion passes"],
};

const scored = (rewards: readonly (number | null)[]) => rewards.filter((one) => one !== null);
const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;

/** What a row comes to in a metric; null when none of its completions was scored. */
export function rowValue(
  rewards: readonly (number | null)[],
  metric: Metric,
  passAbove: number,
): number | null {
  const scores = scored(rewards);
  if (scores.length === 0) return null;
  if (metric === "eval/reward") return mean(scores);
  const passed = scores.map((one) => Number(one > passAbove));
  return metric === "eval/pass_rate" ? mean(passed) : Math.max(...passed);
}

/** The rows in their order, beside those of another evaluation when there is one. */
export function rowsOf(own: readonly RowScores[], other?: readonly RowScores[]): Row[] {
  const there = new Map(other?.map((one) => [one.row, one.rewards]));
  return own.map(({ row, rewards, prompt, answer }) => {
    const value = rowValue(rewards, "eval/reward", 0);
    const old = rowValue(there.get(row) ?? [], "eval/reward", 0);
    return {
      row,
      prompt: prompt ?? null,
      answer: answer ?? null,
      rewards,
      mean: value,
      other: old,
      change: value === null || old === null ? null : value - old,
    };
  });
}

export type Difference = { metric: Metric; rows: number; change: Estimate };

/** By how much each metric differs on the rows that both have, row by row; the server's `gate` reckons alike. */
export function differences(
  own: readonly RowScores[],
  other: readonly RowScores[],
  passAbove: number,
): Difference[] {
  const there = new Map(other.map((one) => [one.row, one.rewards]));
  return METRICS.flatMap((metric) => {
    const pairs = own.flatMap(({ row, rewards }) => {
      const value = rowValue(rewards, metric, passAbove);
      const old = rowValue(there.get(row) ?? [], metric, passAbove);
      return value === null || old === null ? [] : [{ row, change: value - old }];
    });
    const change = estimate(pairs.toSorted((a, b) => a.row - b.row).map((one) => one.change));
    return change ? [{ metric, rows: pairs.length, change }] : [];
  });
}

export type Order = "row" | "low" | "high" | "fell" | "rose";
export const ORDERS: Record<Order, string> = {
  row: "Dataset order",
  low: "Lowest reward first",
  high: "Highest reward first",
  fell: "Largest decrease first",
  rose: "Largest increase first",
};

/** Rows in an order; those without a value last, ties as in the dataset. */
export function ordered(rows: readonly Row[], order: Order): Row[] {
  if (order === "row") return [...rows];
  const key = (one: Row) => (order === "low" || order === "high" ? one.mean : one.change);
  const sign = order === "low" || order === "fell" ? 1 : -1;
  return rows.toSorted((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === right) return a.row - b.row;
    if (left === null) return 1;
    return right === null ? -1 : sign * (left - right);
  });
}
