import type { Usage, UsageKind } from "@/api/usage";
import { bytes, duration, number } from "@/lib/format";

export const KINDS: Record<UsageKind, string> = {
  device_seconds: "Compute time",
  sampled_tokens: "Sampled tokens",
  trained_tokens: "Trained tokens",
  judge_spend: "Judges",
  storage_bytes: "Storage",
  served_input_tokens: "Served input tokens",
  served_output_tokens: "Served output tokens",
};

/** An amount in the unit of its kind: `2 h 5 min`, `1.2 GB`, `0.25`. */
export function amountWords(kind: UsageKind, amount: number): string {
  if (kind === "device_seconds") return duration(amount);
  if (kind === "storage_bytes") return bytes(amount);
  return number(amount);
}

/** How a budget is typed: the unit's name, and how much of the server's unit it is. */
export const TYPED: Record<UsageKind, [unit: string, size: number]> = {
  device_seconds: ["Hours", 3600],
  sampled_tokens: ["Tokens", 1],
  trained_tokens: ["Tokens", 1],
  judge_spend: ["Amount", 1],
  storage_bytes: ["GB", 1e9],
  served_input_tokens: ["Tokens", 1],
  served_output_tokens: ["Tokens", 1],
};

/** One bar of a day, and how high it is as a share of the highest. */
export type Bar = { day: string; amount: number; share: number };

export function bars(
  days: readonly { day: string; amounts: Partial<Record<UsageKind, number>> }[],
  kind: UsageKind,
): Bar[] {
  const most = Math.max(0, ...days.map(({ amounts }) => amounts[kind] ?? 0));
  return days.map(({ day, amounts }) => {
    const amount = amounts[kind] ?? 0;
    return { day, amount, share: most > 0 ? amount / most : 0 };
  });
}

/** The page of what used it, where it has one; a replay of a job's completions, which samples nothing, has none. */
export function sourcePage({ source, amounts }: Usage["sources"][number]) {
  if (source.startsWith("ftjob-")) return "/jobs/$id";
  if (source.startsWith("rew_")) return "/rewards/$id";
  if (source.startsWith("eval_") && amounts.sampled_tokens) return "/evaluations/$id";
  return null;
}
