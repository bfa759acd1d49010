import { number, percent } from "./format";

export type Points = { steps: readonly number[]; values: readonly (number | null)[] };

type Words = {
  up: string;
  down: string;
  format?: (value: number) => string;
  relative?: boolean;
  /** What is said instead of numbers while all of them are closer to 0 than `below`: their digits mean nothing. */
  calm?: { below: number; text: string };
};

/** The ends of the middle nine tenths: a few steps out of line do not count. */
function middle(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const out = Math.floor(sorted.length / 20);
  const inner = sorted.slice(out, sorted.length - out);
  return { low: inner[0] as number, high: inner.at(-1) as number, mean: mean(inner) };
}

const min = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b));
const max = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b));
/** A curve within this share of its size is steady. */
const STEADY = 0.2;
/** A curve that still moves up and down by more than this share of its whole way is not. */
const WAVERS = 0.35;

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The last value that was measured, and its step. */
export function latest(points: Points | undefined): { step: number; value: number } | null {
  if (!points) return null;
  for (let i = points.values.length - 1; i >= 0; i -= 1) {
    const value = points.values[i];
    if (value !== null && value !== undefined) return { step: points.steps[i] as number, value };
  }
  return null;
}

/** The first value that was measured, and its step. */
export function first(points: Points | undefined): { step: number; value: number } | null {
  const at = points?.values.findIndex((value) => value !== null) ?? -1;
  return at < 0 ? null : { step: points?.steps[at] as number, value: points?.values[at] as number };
}

/**
 * One sentence about a curve: where it came from, where it is, since when it has been flat. Both ends are means over
 * a tenth of the curve, so that one noisy step does not tell the story.
 */
export function describe(points: Points | undefined, words: Words): string {
  const measured = (points?.steps ?? []).flatMap((step, i) => {
    const value = points?.values[i];
    return value === null || value === undefined ? [] : [{ step, value }];
  });
  const format = words.format ?? number;
  const only = measured[0];
  if (!only) return "No data yet.";
  if (measured.length === 1) return `${format(only.value)} at step ${only.step}.`;

  const last = measured.at(-1) as { step: number; value: number };
  if (measured.length < 5 && format(only.value) !== format(last.value)) {
    return `${format(only.value)} at step ${only.step}, ${format(last.value)} at step ${last.step}.`;
  }

  const width = Math.max(1, Math.min(10, Math.floor(measured.length / 10)));
  const values = measured.map((point) => point.value);
  const start = mean(values.slice(0, width));
  const end = mean(values.slice(-width));
  const rise = end - start;
  const scale = Math.max(Math.abs(start), Math.abs(end));
  if (values.every((value) => value === values[0])) return `${format(only.value)} throughout.`;
  const { calm } = words;
  if (calm && values.every((value) => Math.abs(value) < calm.below)) return calm.text;
  const chance = Math.abs(rise) < 3 * noise(values) * Math.sqrt(2 / width);
  if (Math.abs(rise) < 0.05 * scale || format(start) === format(end) || chance) return level(values, format);

  const flatSince = settled(measured, end, Math.abs(rise) * 0.15, width);
  const share = start !== 0 && words.relative ? percent(Math.abs(rise / start)) : null;
  const head = share
    ? `${rise > 0 ? words.up : words.down} ${share}, from ${format(start)} to ${format(end)}`
    : `${rise > 0 ? words.up : words.down} from ${format(start)} to ${format(end)}`;
  if (flatSince === null) return `${head}.`;
  const tail = middle(measured.filter(({ step }) => step >= flatSince).map(({ value }) => value));
  return tail.high - tail.low <= WAVERS * Math.abs(rise)
    ? `${head}; steady since step ${flatSince}.`
    : `${head}; since step ${flatSince} between ${format(tail.low)} and ${format(tail.high)}.`;
}

/** A curve that goes nowhere: on one level, on one level but for a few steps, or up and down. */
function level(values: readonly number[], format: (value: number) => string): string {
  const [least, most] = [min(values), max(values)];
  const inner = middle(values);
  if (inner.low === inner.high && least === inner.low) {
    return `Mostly ${format(least)}, at most ${format(most)}.`;
  }
  if (inner.low === inner.high && most === inner.high) {
    return `Mostly ${format(most)}, at least ${format(least)}.`;
  }
  const close = inner.high - inner.low <= STEADY * Math.max(Math.abs(inner.low), Math.abs(inner.high));
  return close || format(inner.low) === format(inner.high)
    ? `Steady around ${format(inner.mean)}.`
    : `Between ${format(least)} and ${format(most)}.`;
}

/** How far single points scatter around a smooth curve: the deviation of one step to the next, over √2. */
function noise(values: readonly number[]): number {
  const squares = values.slice(1).map((value, i) => (value - (values[i] as number)) ** 2);
  return Math.sqrt(mean(squares) / 2);
}

/** The step from which a moving mean stays within `tolerance` of `end`; null when that is only the last fifth. */
function settled(
  points: readonly { step: number; value: number }[],
  end: number,
  tolerance: number,
  width: number,
): number | null {
  let since = points.length - 1;
  while (since > 0) {
    const window = points.slice(Math.max(0, since - width), since).map((point) => point.value);
    if (Math.abs(mean(window) - end) > tolerance) break;
    since -= 1;
  }
  return since <= points.length * 0.8 && points.length >= 5 ? (points[since]?.step ?? null) : null;
}
