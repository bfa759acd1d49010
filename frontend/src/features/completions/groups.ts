import type { Completion, GroupHead } from "@/api/completions";
import { byAdvantage } from "@/lib/advantage";
import { number } from "@/lib/format";
import { turnKey } from "./group/conversation";

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

/** The group to read first: of those with both good and bad completions the worst, else the worst of all. */
export function opening(groups: readonly Group[]): Group | undefined {
  const mixed = groups.filter(({ kind }) => kind === "mixed");
  const mean = (group: Group) => group.mean ?? Number.NEGATIVE_INFINITY;
  const [head, ...others] = mixed.length > 0 ? mixed : groups;
  return others.reduce((worst, group) => (worst && mean(worst) <= mean(group) ? worst : group), head);
}

/** Completions of one text, reward and end; `row` stands for them. */
export type Stack = { row: Completion; copies: readonly Completion[] };

/** Equal completions together, where the first of them stood; the open one stands for its own. */
export function stacksOf(rows: readonly Completion[], open: number | undefined): Stack[] {
  const stacks = new Map<string, Completion[]>();
  for (const row of rows) {
    const { text, reward, advantage, error, finish_reason: end, conversation = [], branches = [] } = row;
    const others = branches.map((branch) => branch.conversation?.map(turnKey));
    const key = JSON.stringify([text, reward, advantage, error, end, conversation.map(turnKey), others]);
    stacks.set(key, [...(stacks.get(key) ?? []), row]);
  }
  return [...stacks.values()].map((copies) => ({
    row: copies.find((row) => row.sample_no === open) ?? (copies[0] as Completion),
    copies,
  }));
}

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

/** Rewards of a group in words: `0.63 (5 of 8)`, `0.5 (0.2–0.9)`, or one number when they are equal. */
export function spread({ rewards, low, mean, high }: Group): string {
  if (mean === null || low === high) return number(mean, 2);
  const scored = (rewards ?? []).filter((reward) => reward !== null);
  const right = scored.filter((reward) => reward === 1).length;
  const binary = scored.every((reward) => reward === 0 || reward === 1);
  const detail = binary ? `${right} of ${scored.length}` : `${number(low, 2)}–${number(high, 2)}`;
  return `${number(mean, 2)} (${detail})`;
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
