import { number, percent } from "./format";

export type Points = { steps: readonly number[]; values: readonly (number | null)[] };

type Words = { up: string; down: string; format?: (value: number) => string; relative?: boolean };

const min = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b));
const max = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b));
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
  if (!only) return "Nothing measured yet.";
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
  if (Math.abs(rise) < 0.05 * scale || format(start) === format(end)) {
    return `Steady around ${format(mean(values))}.`;
  }
  if (Math.abs(rise) < 3 * noise(values) * Math.sqrt(2 / width)) {
    return `Between ${format(min(values))} and ${format(max(values))}, without a trend.`;
  }

  const flatSince = settled(measured, end, Math.abs(rise) * 0.15, width);
  const share = start !== 0 && words.relative ? percent(Math.abs(rise / start)) : null;
  const head = share
    ? `${rise > 0 ? words.up : words.down} ${share}, from ${format(start)} to ${format(end)}`
    : `${rise > 0 ? words.up : words.down} from ${format(start)} to ${format(end)}`;
  return flatSince === null ? `${head}.` : `${head}; steady since step ${flatSince}.`;
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
