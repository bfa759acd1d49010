import type { ComparedCurve, JobComparison, MetricCurves } from "@/api/compare";
import type { ChartColor, ChartLine } from "@/components/chart/model";
import { labelsOf } from "./place";

/** What one line of every chart stands for: a job, or a group of jobs. */
export type Entry = {
  /** Id of the job, or label of the group. */
  id: string;
  label: string;
  /** Held-out reward, by which entries are ranked. */
  reward: number | null;
};

const COLORS: readonly ChartColor[] = ["c1", "c2", "c3", "c4"];
/** Lines that colour and dash tell apart. */
export const MOST_COLORED = 2 * COLORS.length;
/** Highlighted groups with bands from minimum to maximum. */
export const MOST_BANDS = 4;
/** Of more entries than that, the baseline and so many of the best are highlighted at first. */
const BEST = 5;

export function entriesOf({ jobs, groups = [] }: Pick<JobComparison, "jobs" | "groups">): Entry[] {
  if (groups.length > 0)
    return groups.map(({ label, held_out }) => ({ id: label, label, reward: held_out?.mean ?? null }));
  const labels = labelsOf(jobs);
  return jobs.map(({ id, held_out }, at) => ({
    id,
    label: labels[at] ?? id,
    reward: held_out?.value ?? null,
  }));
}

/** All of a few; of many the baseline and the best. */
export function firstHighlighted(entries: readonly Entry[]): string[] {
  if (entries.length <= MOST_COLORED) return entries.map(({ id }) => id);
  const [baseline, ...others] = entries;
  const best = others.sort((a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity)).slice(0, BEST);
  return [baseline, ...best].flatMap((one) => (one ? [one.id] : []));
}

export type Style = { color: ChartColor; dash: boolean };

/** Colour and dash of highlighted entries, in the order of highlighting; the others are context. */
export const styleOf = (id: string, highlighted: readonly string[]): Style => {
  const at = highlighted.indexOf(id);
  if (at < 0) return { color: "c0", dash: false };
  return {
    color: COLORS[at % COLORS.length] as ChartColor,
    dash: at % MOST_COLORED >= COLORS.length,
  };
};

const idOf = (curve: ComparedCurve) => curve.job ?? curve.group ?? "";

/** Lines of one metric; context first, so that highlighted lines are drawn over it. */
export function linesOf(
  curves: MetricCurves | undefined,
  entries: readonly Entry[],
  highlighted: readonly string[],
): ChartLine[] {
  const sources = new Map(curves?.curves.map((curve) => [idOf(curve), curve]));
  const lines = entries.flatMap(({ id, label }): ChartLine[] => {
    const curve = sources.get(id);
    if (!curve) return [];
    const style = styleOf(id, highlighted);
    const { steps, values, minima, maxima } = curve;
    // Many bands would cover each other.
    const hasBand = style.color !== "c0" && highlighted.length <= MOST_BANDS;
    const band = hasBand ? { minima, maxima } : { minima: null, maxima: null };
    const sparse = curves?.key.startsWith("held_out/") && !band.minima;
    return [{ label, ...style, sparse, source: { steps, values, ...band } }];
  });
  return lines.sort((a, b) => Number(b.color === "c0") - Number(a.color === "c0"));
}

/** Where the lines end, in words: all of a few, highest and lowest of many. */
export function endsSentence(lines: readonly ChartLine[], format: (value: number) => string): string {
  const ends = lines.flatMap(({ label, source }) => {
    const value = source?.values.findLast((one) => one !== null);
    return value === null || value === undefined ? [] : [{ label, value }];
  });
  if (ends.length === 0) return "No values yet.";
  if (ends.length <= 3)
    return `${ends.map(({ label, value }) => `${label} ends at ${format(value)}`).join("; ")}.`;
  const low = ends.reduce((one, other) => (other.value < one.value ? other : one));
  const high = ends.reduce((one, other) => (other.value > one.value ? other : one));
  if (low.value === high.value) return `All ${ends.length} end at ${format(low.value)}.`;
  return `Highest at the end: ${high.label} ${format(high.value)}; lowest: ${low.label} ${format(low.value)}.`;
}
