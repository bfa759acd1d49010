import type { Preflight, PreflightReport, PreflightSuggestion } from "@/api/preflights";
import type { Bin } from "@/lib/distribution";
import { count, duration, number, percent, range, roughly } from "@/lib/format";

type Range = PreflightReport["hours"];
type Groups = PreflightReport["groups"];

/** The verdict in words, with a sign that is no colour. */
export const VERDICTS: Record<PreflightReport["verdict"], { sign: string; word: string; text: string }> = {
  go: { sign: "✓", word: "Go", text: "No problems found." },
  caution: { sign: "!", word: "Caution", text: "The job can start, but read the notes first." },
  stop: { sign: "✕", word: "Stop", text: "With these settings the job would learn nothing or be paused." },
};

/** What a pre-flight is doing, until it is over. */
export function progressWords({ status, progress }: Pick<Preflight, "status" | "progress">): string {
  switch (status) {
    case "validating":
      return "Checking the dataset, the rewards and the model.";
    case "queued":
      return "Waiting for a worker.";
    case "starting":
      return "A worker is loading the model.";
    case "cancelling":
    case "pausing":
      return "Stopping after this step.";
    default: {
      const left = progress.eta_seconds == null ? "" : `, about ${roughly(progress.eta_seconds)} left`;
      return `Step ${progress.step} of ${progress.steps} without learning${left}.`;
    }
  }
}

const MOST_NAMES = 12;

/** Groups by how many of their completions pass. Many counts share an axis; few are named one by one. */
export function passBins({ histogram }: PreflightReport["passes"]): Bin[] {
  const few = histogram.length <= MOST_NAMES + 1;
  return histogram.map((rows, passes) => ({ low: passes, high: few ? passes : passes + 1, count: rows }));
}

/** The pass rates in one sentence. */
export function passSentence({ histogram, per_group, pass_at }: PreflightReport["passes"]): string {
  const rows = histogram.reduce((sum, one) => sum + one, 0);
  if (rows === 0) return "No completion has a reward.";
  const [one, all] = [pass_at["1"], pass_at[String(per_group)]];
  const parts = [
    ...(one === undefined ? [] : [`a completion passes in ${percent(one)} of cases`]),
    ...(all === undefined || per_group === 1 ? [] : [`at least one of ${per_group} in ${percent(all)}`]),
  ];
  return `${count(rows, "group")} of ${count(per_group, "completion")} each${parts.length > 0 ? `: ${parts.join(", ")}` : ""}.`;
}

export type Share = { key: "all_right" | "mixed" | "all_wrong"; label: string; share: number };

/** Shares of groups that are drawn as a bar: mixed ones, in the middle, teach. */
export const groupShares = ({ all_right, mixed, all_wrong }: Groups): Share[] => [
  { key: "all_right", label: "all pass", share: all_right },
  { key: "mixed", label: "mixed", share: mixed },
  { key: "all_wrong", label: "none passes", share: all_wrong },
];

const HOUR = 3600;

/** `about 12 min`, and how long it may take: `9–20 min`. */
export function hoursText({ low, expected, high }: Range): { text: string; note: string | null } {
  const between = range(low * HOUR, high * HOUR);
  const text = `about ${roughly(expected * HOUR)}`;
  return { text, note: text.endsWith(between) ? null : between };
}

export type Fact = { name: string; text: string; note?: string | null };

/** What the job will cost, and what of it was measured. */
export function costs(report: PreflightReport): Fact[] {
  const { text, note } = hoursText(report.hours);
  const { reward_ms: reward } = report;
  return [
    { name: "Total time", text, note: note && `${note}, if lengths change` },
    { name: "Per step", text: duration(report.seconds_per_step), note: `on ${report.device}` },
    {
      name: "Memory",
      text: `${number(report.memory_gib.expected)} GiB`,
      note: `at the peak; up to ${number(report.memory_gib.high)} GiB if completions reach the limit`,
    },
    {
      name: "Useful completions",
      text: `${number(report.useful_batch)} per step`,
      note: `${percent(report.groups.useful)} of groups have rewards that differ`,
    },
    {
      name: "Tokens",
      text: `${number(report.tokens.expected)} per completion`,
      note: `${number(report.tokens.low)}–${number(report.tokens.high)} typical; ${number(report.tokens_in_all.expected)} in total`,
    },
    { name: "Truncated", text: percent(report.truncated_share), note: "of completions, at the token limit" },
    {
      name: "Reward time",
      text: reward ? `${number(reward.expected, 2)} ms` : "not measured",
      note: reward && `per completion; 95% within ${number(reward.high, 2)} ms`,
    },
    {
      name: "Reward failures",
      text: percent(report.error_share),
      note: Object.entries(report.errors)
        .map(([status, times]) => `${status.replaceAll("_", " ")}: ${number(times, 6)}`)
        .join(", "),
    },
  ];
}

/** A suggestion as a line: "16 instead of 8". */
export const suggestionText = ({ value, instead_of }: PreflightSuggestion) =>
  `${number(value)} instead of ${number(instead_of)}`;
