/** An advantage by sign, word and colour, so that no reader depends on colour. */

export type Side = "positive" | "negative" | "neutral" | "none";

export function side(advantage: number | null | undefined): Side {
  if (advantage === null || advantage === undefined) return "none";
  if (Math.abs(advantage) < 0.005) return "neutral";
  return advantage > 0 ? "positive" : "negative";
}

export const SIDE_WORD: Record<Side, string> = {
  positive: "better than its group",
  negative: "worse than its group",
  neutral: "no different from its group",
  none: "outside its group",
};

/** Best first; completions without an advantage (no reward) last; equal ones in the order they were sampled. */
export function byAdvantage<T extends { advantage: number | null; reward: number | null; sample_no: number }>(
  rows: readonly T[],
): T[] {
  const rank = (row: T) => row.advantage ?? (row.reward === null ? Number.NEGATIVE_INFINITY : row.reward);
  return rows.toSorted((a, b) => {
    const left = rank(a);
    const right = rank(b);
    return left === right ? a.sample_no - b.sample_no : right > left ? 1 : -1;
  });
}
