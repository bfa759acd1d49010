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
  asked: { min?: number | undefined; max?: number | undefined },
): [number, number] {
  const [least, most] = extent(columns, span, Number.NEGATIVE_INFINITY);
  const low = Math.min(least, asked.min ?? least);
  const high = Math.max(most, asked.max ?? most);
  if (low > high) return [asked.min ?? 0, asked.max ?? (asked.min ?? 0) + 1];
  if (low === asked.min && high === asked.max) return [low, high];
  if (low === high) {
    const air = Math.abs(low) * 0.5 || 1;
    return niceBounds(asked.min === undefined ? low - air : low, high + air);
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

/** 1, 2 and 5 over up to two powers of ten; over more the powers themselves, at most about five of them. */
export function logTicks([low, high]: readonly [number, number]): number[] {
  const from = Math.round(Math.log10(low));
  const to = Math.round(Math.log10(high));
  const decades = to - from;
  if (decades <= 2) {
    const ticks: number[] = [];
    for (let power = from; power < to; power += 1) ticks.push(...[1, 2, 5].map((n) => n * 10 ** power));
    return [...ticks, 10 ** to];
  }
  const every = Math.ceil(decades / 5);
  const ticks: number[] = [];
  for (let power = from; power <= to; power += every) ticks.push(10 ** power);
  return ticks;
}
