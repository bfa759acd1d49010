import type { Replay, ReplayReport } from "@/api/replays";
import { count, number, percent } from "@/lib/format";

/** What took the place of the job's revision: "revision 3" or "unsaved source". */
export const replacedBy = ({ revision }: Pick<Replay, "revision">) =>
  revision == null ? "unsaved source" : `revision ${revision}`;

const ALIKE = 0.95;
const FAR = 0.5;

/** What the comparison means for a job that would go on with the new revision. */
export function replayVerdict(report: ReplayReport): string {
  const { compared, flips, rank_correlation: rank, old_useful, new_useful } = report;
  if (compared === 0) return "No completion has a reward from both revisions, so there is no comparison.";
  const order =
    rank === null
      ? "One of the two scores all completions the same, so rankings cannot be compared."
      : rank >= ALIKE
        ? "Both rank completions almost the same."
        : rank >= FAR
          ? "The rankings agree in part."
          : "The rankings disagree: the job would learn something else.";
  const change = new_useful - old_useful;
  const useful =
    Math.abs(change) < 0.02
      ? ""
      : ` ${change > 0 ? "More" : "Fewer"} groups have rewards that differ: ${percent(new_useful)} instead of ${percent(old_useful)}.`;
  return `${order} ${flips === 0 ? "No completion" : count(flips, "completion")} ${flips === 1 ? "passes" : "pass"} under one only.${useful}`.replace(
    "No completion pass ",
    "No completion passes ",
  );
}

export type Fact = { name: string; text: string; note: string };

/** The numbers of a replay with what each means. */
export function replayFacts(report: ReplayReport): Fact[] {
  const failed = Object.values(report.errors).reduce((sum, one) => sum + one, 0);
  return [
    {
      name: "Rank correlation",
      text: number(report.rank_correlation, 2),
      note: "1: same ranking of all completions",
    },
    {
      name: "Pairwise agreement",
      text: percent(report.same_order),
      note: "of pairs in a group with different old rewards",
    },
    {
      name: "Useful groups",
      text: `${percent(report.old_useful)} → ${percent(report.new_useful)}`,
      note: "groups with different rewards",
    },
    { name: "Flips", text: number(report.flips, 6), note: "completions that pass with only one of the two" },
    {
      name: "Compared",
      text: number(report.compared, 6),
      note: `of ${count(report.completions, "stored completion")}`,
    },
    {
      name: "Failures",
      text: number(failed, 6),
      note:
        Object.entries(report.errors)
          .map(([status, times]) => `${status.replaceAll("_", " ")}: ${number(times, 6)}`)
          .join(", ") || "the new revision scored all completions",
    },
    { name: "Time", text: `${number(report.reward_ms, 2)} ms`, note: "per completion, new revision" },
    ...(report.cost == null
      ? []
      : [
          {
            name: "Cost",
            text: number(report.cost, 3),
            note: `for judges, ${number((1000 * report.cost) / Math.max(1, report.completions), 3)} per 1,000 completions`,
          },
        ]),
  ];
}
