import type { AlignedData } from "uplot";

/** One of the four fixed series colours of the look; the theme decides the shade. */
export type ChartColor = "c1" | "c2" | "c3" | "c4";

export type ChartSource = { steps: readonly number[]; values: readonly (number | null)[] };

export type ChartLine = {
  label: string;
  color: ChartColor;
  source: ChartSource | undefined;
  dash?: boolean;
  /** Measured now and then: each point is marked, and steps between two measurements are no gap. */
  sparse?: boolean;
};

export type ChartBand = {
  label: string;
  color: ChartColor;
  low: ChartSource | undefined;
  high: ChartSource | undefined;
};

/** What one column of a chart holds: a measured number, a hole (null), or nothing due here (undefined). */
export type Cell = number | null | undefined;

/**
 * Columns on one axis: every step that any source has. A step that a dense source lacks is a hole, which is drawn as
 * a gap and never bridged; for a sparse source it is not due.
 */
export function align(
  sources: readonly { source: ChartSource | undefined; sparse?: boolean }[],
): [number[], ...Cell[][]] {
  const steps = new Set<number>();
  for (const { source } of sources) for (const step of source?.steps ?? []) steps.add(step);
  const axis = [...steps].sort((a, b) => a - b);
  const place = new Map(axis.map((step, i) => [step, i]));
  const columns = sources.map(({ source, sparse }) => {
    const column: Cell[] = new Array(axis.length).fill(sparse ? undefined : null);
    source?.steps.forEach((step, i) => {
      column[place.get(step) as number] = source.values[i] ?? null;
    });
    return column;
  });
  return [axis, ...columns];
}

/** The columns of a chart in drawing order: band high, band low, then the lines. */
export function chartData(band: ChartBand | undefined, lines: readonly ChartLine[]): AlignedData {
  const edges = band ? [{ source: band.high }, { source: band.low }] : [];
  return align([...edges, ...lines]) as AlignedData;
}

/** Bounds of the value axis: all of the data with a little air, at least `least` apart, inside what was asked for. */
export function valueRange(data: AlignedData, asked: { min?: number; max?: number }): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const column of data.slice(1)) {
    for (const value of column) {
      if (value === null || value === undefined) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return [asked.min ?? 0, asked.max ?? 1];
  const air = (high - low) * 0.08 || Math.abs(high) * 0.1 || 0.5;
  const bottom = asked.min === undefined ? low - air : Math.min(asked.min, low);
  const top = asked.max === undefined ? high + air : Math.max(asked.max, high);
  return [bottom, top > bottom ? top : bottom + 1];
}
