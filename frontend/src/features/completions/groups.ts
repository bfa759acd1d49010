import type { CompletionRow } from "@/api/jobs";
import { byAdvantage } from "@/lib/advantage";

export type Group = {
  promptNo: number;
  rows: CompletionRow[];
  /** Mean over completions that have a reward. */
  mean: number | null;
  kind: "mixed" | "all right" | "all wrong" | "no reward";
};

function kindOf(rewards: readonly number[]): Group["kind"] {
  const [head] = rewards;
  if (head === undefined) return "no reward";
  if (rewards.some((reward) => reward !== head)) return "mixed";
  return head > 0 ? "all right" : "all wrong";
}

/** Completions of one step by prompt, the best of each group first. */
export function groupsOf(rows: readonly CompletionRow[]): Group[] {
  const groups = new Map<number, CompletionRow[]>();
  for (const row of rows) {
    const group = groups.get(row.prompt_no);
    if (group) group.push(row);
    else groups.set(row.prompt_no, [row]);
  }
  return [...groups.entries()]
    .sort(([a], [b]) => a - b)
    .map(([promptNo, members]) => {
      const rewards = members.flatMap((row) => (row.reward === null ? [] : [row.reward]));
      const mean =
        rewards.length > 0 ? rewards.reduce((sum, value) => sum + value, 0) / rewards.length : null;
      return { promptNo, rows: byAdvantage(members), mean, kind: kindOf(rewards) };
    });
}
