import type { Bin } from "./distribution";

/** A bar in percent of the drawing: `left` and `width` along the axis, `height` of the largest count. */
export type Bar = { left: number; width: number; height: number; bin: Bin };
export type Layout = { bars: Bar[]; low: number; high: number; mark: number | null };

/** How much longer than its values the axis may get to show a mark behind them. */
const STRETCH = 2.5;

/**
 * Where bars and a mark stand. Bins that are single points get equal places; others their true width. A mark far
 * behind the values is left out (null): showing it would squeeze them.
 */
export function layout(bins: readonly Bin[], markAt?: number | null): Layout {
  const most = Math.max(1, ...bins.map((bin) => bin.count));
  const height = (bin: Bin) => (100 * bin.count) / most;
  const low = bins[0]?.low ?? 0;
  const end = bins.at(-1)?.high ?? 1;
  if (bins.every((bin) => bin.low === bin.high)) {
    const place = 100 / Math.max(1, bins.length);
    const bars = bins.map((bin, i) => ({ left: i * place, width: place, height: height(bin), bin }));
    return { bars, low, high: end, mark: null };
  }
  const markVisible = markAt != null && markAt > low && markAt - low <= STRETCH * (end - low);
  const high = markVisible ? Math.max(end, markAt) : end;
  const at = (value: number) => (100 * (value - low)) / (high - low);
  const bars = bins.map((bin) => ({
    left: at(bin.low),
    width: at(bin.high) - at(bin.low),
    height: height(bin),
    bin,
  }));
  return { bars, low, high, mark: markVisible ? at(markAt) : null };
}
