import { number, percent } from "./format";

export type Points = { steps: readonly number[]; values: readonly (number | null)[] };

type Words = {
  up: string;
  down: string;
  format?: (value: number) => string;
  relative?: boolean;
  /** What is said instead of numbers while all of them are closer to 0 than `below`: their digits mean nothing. */
  calm?: { below: number; text: string };
  /** Few and exact values, as of evaluations: the ends are the first and the last, not means. */
  exact?: boolean;
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
/** The standard deviation of normal differences, in medians of their size. */
const NORMAL_MEDIAN = 1.4826;
/** A change below this share of a curve's size is none. */
const NEGLIGIBLE = 0.03;
/** Fewer points are not called steady. */
const FEW = 3;
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

type Measured = { step: number; value: number };

function measuredOf(points: Points | undefined): Measured[] {
  return (points?.steps ?? []).flatMap((step, i) => {
    const value = points?.values[i];
    return value === null || value === undefined ? [] : [{ step, value }];
  });
}

/** Where a curve came from and where it is; `clear`: they differ by more than chance and a hair. */
export type Course = { start: number; end: number; rise: number; clear: boolean };

/**
 * The change of a curve, as every number and sentence about it says it (and `reinforge.diagnosis.curve` on the
 * server). Both ends are means over a tenth of the curve, so that one noisy step does not tell the story; over less
 * where the curve moves within that tenth.
 */
export function courseOf(points: Points | undefined, exact = false): Course | null {
  const values = measuredOf(points).map(({ value }) => value);
  return values.length === 0 ? null : courseOfValues(values, exact);
}

function courseOfValues(values: readonly number[], exact: boolean): Course {
  const scatter = exact ? typicalNoise(values) : noise(values);
  const width = exact ? 1 : Math.max(1, Math.min(10, Math.floor(values.length / 10)));
  const before = endOf(values.slice(0, width), scatter);
  const after = endOf(values.slice(-width).reverse(), scatter);
  const [start, end] = [mean(before), mean(after)];
  const rise = end - start;
  const chance = 3 * scatter * Math.sqrt(1 / before.length + 1 / after.length);
  const hair = NEGLIGIBLE * Math.max(Math.abs(start), Math.abs(end));
  return { start, end, rise, clear: rise !== 0 && Math.abs(rise) >= hair && Math.abs(rise) >= chance };
}

/** The values of an end, outermost first; half of them where these differ from the others by more than chance. */
function endOf(values: readonly number[], scatter: number): readonly number[] {
  const half = Math.floor(values.length / 2);
  if (half === 0) return values;
  const [outer, inner] = [values.slice(0, half), values.slice(half)];
  const chance = 3 * scatter * Math.sqrt(1 / outer.length + 1 / inner.length);
  return Math.abs(mean(outer) - mean(inner)) > chance ? endOf(outer, scatter) : values;
}

/** One sentence about a curve: where it came from, where it is, since when it has been flat. */
export function describe(points: Points | undefined, words: Words): string {
  const measured = measuredOf(points);
  const format = words.format ?? number;
  const only = measured[0];
  if (!only) return "No data yet.";
  if (measured.length === 1) return `${format(only.value)} at step ${only.step}.`;

  const last = measured.at(-1) as Measured;
  if (measured.length < 5 && format(only.value) !== format(last.value)) {
    return `${format(only.value)} at step ${only.step}, ${format(last.value)} at step ${last.step}.`;
  }

  const values = measured.map((point) => point.value);
  if (values.every((value) => value === values[0])) return `${format(only.value)} throughout.`;
  const { calm } = words;
  if (calm && values.every((value) => Math.abs(value) < calm.below)) return calm.text;
  const { start, end, rise, clear } = courseOfValues(values, words.exact ?? false);
  if (!clear || format(start) === format(end)) return level(values, format);

  const width = Math.max(1, Math.min(10, Math.floor(measured.length / 10)));
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
  if (values.length < 2) return 0;
  const squares = values.slice(1).map((value, i) => (value - (values[i] as number)) ** 2);
  return Math.sqrt(mean(squares) / 2);
}

/** The same from the median difference: one leap among a few exact values is no noise. */
function typicalNoise(values: readonly number[]): number {
  const leaps = values.slice(1).map((value, i) => Math.abs(value - (values[i] as number)));
  const typical = leaps.toSorted((a, b) => a - b)[Math.floor((leaps.length - 1) / 2)] ?? 0;
  return typical > 0 ? (NORMAL_MEDIAN * typical) / Math.SQRT2 : noise(values);
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
  const long = since <= points.length * 0.8 && points.length - since >= FEW;
  return long ? (points[since]?.step ?? null) : null;
}
