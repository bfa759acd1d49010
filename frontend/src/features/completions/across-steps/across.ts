import type { CompletionRow } from "@/api/completions";
import type { Pick } from "../place";

/** What one prompt got at one step. */
export type StepOfPrompt = {
  step: number;
  rows: CompletionRow[];
  mean: number | null;
  rewards: (number | null)[];
};

/** Rows of one prompt by step, oldest first; a prompt drawn twice in a step counts as one. */
export function bySteps(rows: readonly CompletionRow[]): StepOfPrompt[] {
  const steps = new Map<number, CompletionRow[]>();
  for (const row of rows) {
    const at = steps.get(row.step);
    if (at) at.push(row);
    else steps.set(row.step, [row]);
  }
  return [...steps]
    .sort(([a], [b]) => a - b)
    .map(([step, mine]) => {
      const sampled = mine.toSorted((a, b) => a.prompt_no - b.prompt_no || a.sample_no - b.sample_no);
      const rewards = sampled.map((row) => row.reward);
      const measured = rewards.filter((reward) => reward !== null);
      const mean = measured.length > 0 ? measured.reduce((a, b) => a + b) / measured.length : null;
      return { step, rows: sampled, rewards, mean };
    });
}

/** The completion that represents a step: the best rewarded (the first of equals), or the first sampled. */
export function choose({ rows }: StepOfPrompt, pick: Pick): CompletionRow | undefined {
  if (pick === "first") return rows[0];
  return rows.reduce<CompletionRow | undefined>(
    (best, row) =>
      best === undefined ||
      (row.reward ?? Number.NEGATIVE_INFINITY) > (best.reward ?? Number.NEGATIVE_INFINITY)
        ? row
        : best,
    undefined,
  );
}

/** The two steps to compare: the selected ones if they exist, else the first and the last. */
export function pair(
  steps: readonly StepOfPrompt[],
  a: number | undefined,
  b: number | undefined,
): readonly [StepOfPrompt, StepOfPrompt] | undefined {
  const find = (step: number | undefined) => steps.find((one) => one.step === step);
  const from = find(a) ?? steps[0];
  const to = find(b) ?? steps.at(-1);
  return from && to && [from, to];
}

/** One sentence for those who do not see the chart. */
export function trend(steps: readonly StepOfPrompt[], say: (value: number) => string): string {
  const measured = steps.filter((one) => one.mean !== null);
  const [first, last] = [measured[0], measured.at(-1)];
  if (!first || !last) return "No rewards yet.";
  const [from, to] = [first.mean as number, last.mean as number];
  if (first === last) return `Mean reward ${say(from)} at step ${first.step}.`;
  const way = to > from ? "up" : to < from ? "down" : "unchanged";
  return `Mean reward ${way} from ${say(from)} at step ${first.step} to ${say(to)} at step ${last.step}.`;
}
