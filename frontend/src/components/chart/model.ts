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

const NICE = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
const INTERVALS = 4;

/** The smallest round interval of which four, from a multiple of it, cover low to high. */
function niceBounds(low: number, high: number): [number, number] {
  const raw = (high - low) / INTERVALS;
  let power = 10 ** Math.floor(Math.log10(raw));
  for (;;) {
    for (const nice of NICE) {
      const step = nice * power;
      const bottom = Math.floor(low / step + 1e-9) * step;
      if (step >= raw * 0.999 && bottom + INTERVALS * step >= high - step * 1e-6) {
        return [bottom, bottom + INTERVALS * step];
      }
    }
    power *= 10;
  }
}

/**
 * Bounds of the value axis: round numbers around all of the data. What was asked for is kept exactly, unless the data
 * lie outside it.
 */
export function valueRange(data: AlignedData, asked: { min?: number; max?: number }): [number, number] {
  let low = asked.min ?? Number.POSITIVE_INFINITY;
  let high = asked.max ?? Number.NEGATIVE_INFINITY;
  for (const column of data.slice(1)) {
    for (const value of column) {
      if (value === null || value === undefined) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return [asked.min ?? 0, (asked.min ?? 0) + 1];
  if (low === asked.min && high === asked.max) return [low, high];
  if (low === high) {
    const air = Math.abs(low) * 0.5 || 1;
    return niceBounds(asked.min === undefined ? low - air : low, high + air);
  }
  return niceBounds(low, high);
}
