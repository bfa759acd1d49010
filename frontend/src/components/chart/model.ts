import type { AlignedData } from "uplot";
import { smooth } from "./smooth";

/** One of the four fixed series colours of the look; the theme decides the shade. `c0`: context, not in the legend. */
export type ChartColor = "c0" | "c1" | "c2" | "c3" | "c4";

export type ChartSource = {
  steps: readonly number[];
  values: readonly (number | null)[];
  /** Smallest and largest value of points that combine several steps. */
  minima?: readonly (number | null)[] | null;
  maxima?: readonly (number | null)[] | null;
};

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
  /** Its value at a step; without one both edges. */
  say?: (low: number, high: number) => string;
};

/** What one column of a chart holds: a measured number, a hole (null), or nothing due here (undefined). */
export type Cell = number | null | undefined;

/** Role of a column of the plot. `ghost` is the measured line behind its smoothed one. */
export type Role = "high" | "low" | "peak" | "trough" | "ghost" | "line";
export type Column = { role: Role; label: string; color: ChartColor; dash?: boolean; sparse?: boolean };

export type Drawing = {
  steps: readonly number[];
  columns: readonly Column[];
  cells: readonly (readonly Cell[])[];
  /** Measured values that a logarithmic axis cannot show: 0 and below. */
  unshown: number;
};

export type DrawingInput = {
  band?: ChartBand | undefined;
  lines: readonly ChartLine[];
  /** Labels of lines and bands that the reader has switched off. */
  hidden?: ReadonlySet<string>;
  /** 0 is off; towards 1 more of the past counts. */
  smoothing?: number;
  /** Steps over which `smoothing` is one factor. */
  smoothUnit?: number;
  log?: boolean;
};

/** Name of the span between the smallest and the largest value of steps that share a point. */
export const SPAN = "min–max";
/** Stands for "as low as the axis goes" where the edge of a band is 0 or below on a logarithmic axis. */
export const FLOOR = 1e-30;

type Steps = readonly number[];

function same(a: Steps, b: Steps): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}

function union(a: Steps, b: Steps): number[] {
  const all: number[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const left = i < a.length ? (a[i] as number) : Number.POSITIVE_INFINITY;
    const right = j < b.length ? (b[j] as number) : Number.POSITIVE_INFINITY;
    all.push(Math.min(left, right));
    if (left <= right) i += 1;
    if (right <= left) j += 1;
  }
  return all;
}

/** The values of a source at the steps of the axis; the source's own column where its steps are the axis. */
function spread(axis: Steps, steps: Steps, values: readonly Cell[], missing: null | undefined) {
  if (same(axis, steps)) return values;
  const column: Cell[] = new Array(axis.length).fill(missing);
  let at = 0;
  for (let i = 0; i < steps.length; i += 1) {
    while ((axis[at] as number) < (steps[i] as number)) at += 1;
    column[at] = values[i] ?? null;
  }
  return column;
}

/** Every step that any of the sources has, in order. */
export function axisOf(sources: readonly (ChartSource | undefined)[]): Steps {
  let axis: Steps = [];
  for (const source of sources) {
    if (source && !same(axis, source.steps)) {
      axis = axis.length === 0 ? source.steps : union(axis, source.steps);
    }
  }
  return axis;
}

/** Removes values that a logarithmic axis cannot show; `count` receives their number. */
function positive(column: readonly Cell[], instead: null | number, count?: (lost: number) => void) {
  let lost = 0;
  const cells = column.map((value) => {
    if (value === null || value === undefined || value > 0) return value;
    lost += 1;
    return instead;
  });
  count?.(lost);
  return lost > 0 ? cells : column;
}

const NONE: readonly Cell[] = [];

/** What a step means that a source does not have: not due between evaluations and inside of buckets, else a hole. */
const missing = (source: ChartSource, sparse?: boolean) => (sparse || source.minima ? undefined : null);

/**
 * The columns of a chart on one axis, in drawing order. A step that a dense source lacks is a hole, which is drawn as
 * a gap and never bridged; for a sparse source it is not due, and sparse sources are never smoothed. Hidden columns
 * stay in place without cells, so that the plot keeps its shape.
 */
export function drawingOf(input: DrawingInput): Drawing {
  const { band, lines, hidden, smoothing = 0, smoothUnit = 1, log = false } = input;
  const axis = axisOf([band?.high, band?.low, ...lines.map((line) => line.source)]);
  const columns: Column[] = [];
  const cells: (readonly Cell[])[] = [];
  let unshown = 0;
  const edge = (
    column: Column,
    source: ChartSource | undefined,
    values: readonly Cell[] | null | undefined,
  ) => {
    const visible = source && values && !hidden?.has(column.label);
    const filled = visible ? spread(axis, source.steps, values, missing(source)) : NONE;
    columns.push(column);
    cells.push(log ? positive(filled, FLOOR) : filled);
  };
  if (band) {
    const { label, color } = band;
    edge({ role: "high", label, color }, band.high, band.high?.values);
    edge({ role: "low", label, color }, band.low, band.low?.values);
  }
  for (const line of lines) {
    const { label, color, dash, sparse, source } = line;
    const visible = source && !hidden?.has(label) ? source : undefined;
    if (source?.minima && source.maxima && !sparse) {
      edge({ role: "peak", label: SPAN, color }, visible, source.maxima);
      edge({ role: "trough", label: SPAN, color }, visible, source.minima);
    }
    const style = { label, color, dash, sparse };
    let own = visible ? spread(axis, visible.steps, visible.values, missing(visible, sparse)) : NONE;
    if (log) {
      own = positive(own, null, (lost) => {
        unshown += lost;
      });
    }
    if (smoothing > 0 && !sparse) {
      columns.push({ ...style, role: "ghost" });
      cells.push(own);
      own = smooth(axis, own, smoothing, smoothUnit);
    }
    columns.push({ ...style, role: "line" });
    cells.push(own);
  }
  return { steps: axis, columns, cells, unshown };
}

/** What uPlot draws: places on the x axis, then the columns. */
export function plotData(xs: readonly number[], drawing: Drawing): AlignedData {
  return [xs, ...drawing.cells] as unknown as AlignedData;
}

/** First and last index whose step lies within the range; everything without one. */
export function within(steps: readonly number[], range: readonly [number, number] | null): [number, number] {
  if (!range) return [0, steps.length - 1];
  return [lowerBound(steps, range[0]), lowerBound(steps, range[1] + 1) - 1];
}

/** Index of the first element that is not below `target`. */
export function lowerBound(sorted: readonly number[], target: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < target) low = middle + 1;
    else high = middle;
  }
  return low;
}
