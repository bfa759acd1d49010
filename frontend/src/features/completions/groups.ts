import type { Completion, GroupHead } from "@/api/completions";
import { byAdvantage } from "@/lib/advantage";

export type Kind = "mixed" | "equal > 0" | "equal ≤ 0" | "no reward";
export type Only = "all" | "signal" | "right" | "wrong";
export type GroupSort = "advantage" | "reward" | "length" | "sampled";

export type Group = GroupHead & {
  kind: Kind;
  /** Over completions that have a reward; null when none has. */
  low: number | null;
  mean: number | null;
  high: number | null;
};

/** A shape beside the words, for those who look rather than read. */
export const KIND_SHAPE: Record<Kind, string> = {
  mixed: "◐",
  "equal > 0": "●",
  "equal ≤ 0": "○",
  "no reward": "✕",
};

export const KIND_MEANING: Record<Kind, string> = {
  mixed: "rewards differ: the group has a training signal",
  "equal > 0": "equal rewards: the group has no training signal",
  "equal ≤ 0": "equal rewards: the group has no training signal",
  "no reward": "no completion has a reward",
};

/** The same rule as the metrics `groups/all_right_share` and `groups/all_wrong_share`. */
function kindOf(rewards: readonly number[]): Kind {
  const [head] = rewards;
  if (head === undefined) return "no reward";
  if (rewards.some((reward) => reward !== head)) return "mixed";
  return head > 0 ? "equal > 0" : "equal ≤ 0";
}

export function judge(head: GroupHead): Group {
  const rewards = (head.rewards ?? []).filter((reward) => reward !== null);
  const some = rewards.length > 0;
  return {
    ...head,
    kind: kindOf(rewards),
    low: some ? rewards.reduce((a, b) => Math.min(a, b)) : null,
    mean: some ? rewards.reduce((a, b) => a + b) / rewards.length : null,
    high: some ? rewards.reduce((a, b) => Math.max(a, b)) : null,
  };
}

const KINDS: Record<Only, (kind: Kind) => boolean> = {
  all: () => true,
  signal: (kind) => kind === "mixed",
  right: (kind) => kind === "equal > 0",
  wrong: (kind) => kind === "equal ≤ 0",
};

export const onlyThese = (groups: readonly Group[], only: Only) =>
  groups.filter((group) => KINDS[only](group.kind));

const falling = (value: (row: Completion) => number | null) => (a: Completion, b: Completion) => {
  const [left, right] = [value(a), value(b)];
  if (left === right) return a.sample_no - b.sample_no;
  if (left === null) return 1;
  return right === null ? -1 : right - left;
};

/** The completions of a group, best or longest first; without a value last; ties as they were sampled. */
export function sortCompletions(rows: readonly Completion[], sort: GroupSort): Completion[] {
  switch (sort) {
    case "advantage":
      return byAdvantage(rows);
    case "reward":
      return rows.toSorted(falling((row) => row.reward));
    case "length":
      return rows.toSorted(falling((row) => row.length));
    case "sampled":
      return rows.toSorted((a, b) => a.sample_no - b.sample_no);
  }
}

/** Smallest and largest reward of a step: the scale that all its strips share. Never of width 0. */
export function rewardScale(groups: readonly Group[]): readonly [number, number] {
  const lows = groups.flatMap((group) => (group.low === null ? [] : [group.low]));
  const highs = groups.flatMap((group) => (group.high === null ? [] : [group.high]));
  const low = Math.min(0, ...lows);
  const high = Math.max(low === 0 ? 1 : 0, ...highs);
  return [low, high > low ? high : low + 1];
}

const BINS = 24;

/** Dots of a strip: place 0–1 on the scale and how many of the rewards lie there (as a share). */
export function dots(rewards: readonly (number | null)[], [low, high]: readonly [number, number]) {
  const bins = new Map<number, number>();
  for (const reward of rewards) {
    if (reward === null) continue;
    const bin = Math.round(((reward - low) / (high - low)) * BINS);
    bins.set(bin, (bins.get(bin) ?? 0) + 1);
  }
  return [...bins].map(([bin, count]) => ({ at: bin / BINS, share: count / rewards.length }));
}
