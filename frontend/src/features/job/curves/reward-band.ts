import type { ChartBand } from "@/components/chart/model";
import { percent } from "@/lib/format";
import { pick, type SeriesMap } from "../series";
import type { ChartDef } from "./charts";

/** The least variance of 0/1 rewards in m · (1 − m), as measured; means over several steps lose some of it. */
const LEAST_SPREAD = { exact: 1 - 1e-6, combined: 0.9 };
/** … and the most, which a sample variance of four completions has. */
const MOST_SPREAD = 1.34;

/** Whether the rewards so far are 0 and 1: no others between 0 and 1 scatter as much around their means. */
export function isBinary(series: SeriesMap): boolean {
  const [mean, std] = [pick(series, "reward/mean"), pick(series, "reward/std")];
  let [measured, expected, steps] = [0, 0, 0];
  for (const [at, value] of (mean?.values ?? []).entries()) {
    const spread = std?.values[at];
    if (value === null || spread === null || spread === undefined) continue;
    if (value < 0 || value > 1) return false;
    measured += spread ** 2;
    expected += value * (1 - value);
    steps += 1;
  }
  const least = mean?.minima ? LEAST_SPREAD.combined : LEAST_SPREAD.exact;
  return steps > 0 && measured >= least * expected && measured <= MOST_SPREAD * expected + 1e-9;
}

/** Series that decide about a band, beside its own. */
export const BAND_KEYS = ["reward/mean", "reward/std", "groups/all_right_share", "groups/all_wrong_share"];

const mixedShare = (right: number, notWrong: number) => percent(Math.max(0, notWrong - right));

/**
 * The band of a chart. Percentiles of 0/1 rewards jump between 0 and 1, so their band is the groups with both: below
 * it those that are all right, above it those that are all wrong.
 */
export function bandOf(def: ChartDef, series: SeriesMap): ChartBand | undefined {
  const { band } = def;
  if (!band) return undefined;
  const right = pick(series, "groups/all_right_share");
  const wrong = pick(series, "groups/all_wrong_share");
  if (band.low !== "reward/p10" || !right || !wrong || !isBinary(series))
    return {
      label: band.label,
      color: band.color,
      low: pick(series, band.low),
      high: pick(series, band.high),
    };
  const rest = (values: readonly (number | null)[] | null | undefined) =>
    values?.map((value) => (value === null ? null : 1 - value));
  const high = {
    steps: wrong.steps,
    values: rest(wrong.values) ?? [],
    minima: rest(wrong.maxima),
    maxima: rest(wrong.minima),
  };
  return { label: "mixed groups", color: band.color, low: right, high, say: mixedShare };
}
