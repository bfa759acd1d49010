/** How scores and lengths spread: bins for a histogram, and what the spread means for learning. */

export type Bin = { low: number; high: number; count: number };

/** Steps that read well on an axis: 1, 2 or 5 times a power of ten. */
export function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

/**
 * Equally wide bins over all values, at most `most`, that begin at a round number; the last includes its end.
 * Few distinct values (a reward of 0 and 1) get a bin each, as wide as a point.
 */
export function histogram(values: readonly number[], most = 12): Bin[] {
  if (values.length === 0) return [];
  const distinct = [...new Set(values)].sort((a, b) => a - b);
  if (distinct.length <= Math.min(6, most)) {
    return distinct.map((value) => ({
      low: value,
      high: value,
      count: values.filter((one) => one === value).length,
    }));
  }
  const low = distinct[0] as number;
  const high = distinct.at(-1) as number;
  const step = niceStep((high - low) / most);
  const first = Math.floor(low / step);
  const bins: Bin[] = [];
  for (let i = first; i * step < high || bins.length === 0; i += 1) {
    bins.push({ low: round(i * step, step), high: round((i + 1) * step, step), count: 0 });
  }
  for (const value of values) {
    const at = Math.min(bins.length - 1, Math.floor(value / step + 1e-9) - first);
    (bins[at] as Bin).count += 1;
  }
  return bins;
}

/** A multiple of `step` without the dust of binary fractions. */
function round(value: number, step: number): number {
  return Number(value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(step)))));
}

export type Scored = { group: number; value: number | null };
export type Verdict = { tone: "bad" | "warn" | "info"; title: string; text: string };

/**
 * What a set of scores says about the reward, in words; null when it can tell completions apart. `references`: all
 * completions are reference answers, which should score the same.
 */
export function verdict(scored: readonly Scored[], references = false): Verdict | null {
  const values = scored.flatMap(({ value }) => (value === null ? [] : [value]));
  if (scored.length === 0) return null;
  if (values.length === 0) {
    return {
      tone: "bad",
      title: "No completion has a score",
      text: "Every call failed or did not apply. A job would have no training signal.",
    };
  }
  const equal = values.length > 1 && values.every((value) => value === values[0]);
  if (equal && references && values[0] !== 0) {
    return {
      tone: "info",
      title: "All reference answers score the same",
      text: "This is expected. Now test a wrong and an empty completion, or sample from the base model: they should score lower.",
    };
  }
  if (equal) {
    const what = values[0] === 0 ? "scores 0" : "scores the same";
    return {
      tone: "warn",
      title: `Every completion ${what}`,
      text: "A job learns from differences, so it would learn nothing. Test a right, a wrong and an empty completion.",
    };
  }
  const groups = new Map<number, number[]>();
  for (const { group, value } of scored) {
    if (value !== null) groups.set(group, [...(groups.get(group) ?? []), value]);
  }
  const several = [...groups.values()].filter((group) => group.length > 1);
  if (several.length > 1 && several.every((group) => group.every((value) => value === group[0]))) {
    return {
      tone: "warn",
      title: "Completions of a row score the same",
      text: "Scores differ between rows but not within a row. Training compares only completions of the same row.",
    };
  }
  return null;
}

/**
 * How far the scores of one group lie apart: mean deviation (n − 1) inside groups of two or more, how many such groups
 * there are, and how many tell their completions apart. Null without any.
 */
export function groupSpread(scored: readonly Scored[]) {
  const groups = new Map<number, number[]>();
  for (const { group, value } of scored) {
    if (value !== null) groups.set(group, [...(groups.get(group) ?? []), value]);
  }
  const several = [...groups.values()].filter((values) => values.length > 1);
  if (several.length === 0) return null;
  const deviations = several.map((values) => {
    const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
    return Math.sqrt(values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1));
  });
  return {
    groups: several.length,
    apart: several.filter((values) => values.some((value) => value !== values[0])).length,
    deviation: deviations.reduce((sum, one) => sum + one, 0) / deviations.length,
  };
}

/** Smallest, middle and mean of the values that are there. */
export function spread(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] as number;
  if (sorted.length === 0) return null;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return { min: at(0), median: at(0.5), max: at(1), mean };
}
