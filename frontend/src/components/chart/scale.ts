import type { Cell } from "./model";
import { FLOOR } from "./model";

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

type Columns = readonly (readonly Cell[])[];
type Span = readonly [from: number, to: number];

function extent(columns: Columns, [from, to]: Span, floor: number): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const column of columns) {
    const end = Math.min(to, column.length - 1);
    for (let i = from; i <= end; i += 1) {
      const value = column[i];
      if (value === null || value === undefined || value <= floor) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low, high];
}

/**
 * Bounds of the value axis: round numbers around the data with index `from` to `to`. What was asked for is kept
 * exactly, unless the data lie outside it.
 */
export function valueRange(
  columns: Columns,
  span: Span,
  bounds: { min?: number | undefined; max?: number | undefined },
): [number, number] {
  const [least, most] = extent(columns, span, Number.NEGATIVE_INFINITY);
  const low = Math.min(least, bounds.min ?? least);
  const high = Math.max(most, bounds.max ?? most);
  if (low > high) return [bounds.min ?? 0, bounds.max ?? (bounds.min ?? 0) + 1];
  if (low === bounds.min && high === bounds.max) return [low, high];
  if (low === high) {
    const air = Math.abs(low) * 0.5 || 1;
    return niceBounds(bounds.min === undefined ? low - air : low, high + air);
  }
  return niceBounds(low, high);
}

/** Bounds of a logarithmic axis: whole powers of ten around what is above 0. */
export function logRange(columns: Columns, span: Span): [number, number] {
  const [least, most] = extent(columns, span, FLOOR);
  if (least > most) return [0.1, 1];
  const low = Math.floor(Math.log10(least) + 1e-9);
  const high = Math.ceil(Math.log10(most) - 1e-9);
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

/** Five lines, of which every second is named. */
export function valueTicks([low, high]: readonly [number, number]): number[] {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => low + (high - low) * share);
}

/** 1, 2 and 5 of each power of ten where there is room for `most` names, else the powers, every second or third. */
export function logTicks([low, high]: readonly [number, number], most = 5): number[] {
  const from = Math.round(Math.log10(low));
  const to = Math.round(Math.log10(high));
  const powers = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
  const fine = powers.flatMap((power) => [1, 2, 5].map((n) => n * power)).filter((at) => at <= high * 1.001);
  if (fine.length <= most) return fine;
  const every = Math.max(1, Math.ceil((powers.length - 1) / Math.max(1, most - 1)));
  return powers.filter((_, i) => i % every === 0);
}
