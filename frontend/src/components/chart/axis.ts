import { duration, number, tick } from "@/lib/format";
import { lowerBound } from "./model";

export const AXES = ["step", "time", "tokens"] as const;
export type AxisKind = (typeof AXES)[number];

/** X axis of a chart. Ranges are in steps, so that a range means the same on every axis. */
export type Axis = {
  kind: AxisKind;
  /** Place of a step, which may lie between two measured ones or after the last. */
  at: (step: number) => number;
  /** The step at a place, whole only by chance. */
  stepAt: (x: number) => number;
  /** One place, in words with its unit. */
  say: (x: number) => string;
  /** A number of the axis; short. */
  tick: (x: number) => string;
};

const whole = (step: number) => String(Math.round(step));

export const STEPS: Axis = {
  kind: "step",
  at: (step) => step,
  stepAt: (x) => x,
  say: (x) => `step ${whole(x)}`,
  tick: whole,
};

/** Value at `x` of the polyline through (xs, ys); beyond its ends its mean slope continues. */
function along(xs: readonly number[], ys: readonly number[], x: number): number {
  const last = xs.length - 1;
  const at = Math.max(1, Math.min(last, lowerBound(xs, x)));
  const outside = x > (xs[last] as number);
  const [a, b] = outside ? [0, last] : [at - 1, at];
  const [x0, x1, y0, y1] = [xs[a], xs[b], ys[a], ys[b]] as [number, number, number, number];
  const slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
  return outside ? y1 + (x - x1) * slope : y0 + (x - x0) * slope;
}

/**
 * An axis of seconds or tokens, from where single steps were. Knots must be ordered by step; a place that would go
 * back (clocks do) is held. With less than two knots there is nothing to go by, and steps are shown.
 */
export function axisFrom(kind: AxisKind, knots: readonly (readonly [step: number, x: number])[]): Axis {
  if (kind === "step" || knots.length < 2) return STEPS;
  const steps = knots.map(([step]) => step);
  const places: number[] = [];
  for (const [, x] of knots) places.push(Math.max(x, places.at(-1) ?? x));
  return {
    kind,
    at: (step) => along(steps, places, step),
    stepAt: (x) => along(places, steps, x),
    say: kind === "time" ? (x) => duration(Math.round(Math.max(0, x))) : (x) => `${number(x)} tokens`,
    tick: kind === "time" ? (x) => duration(Math.round(x)) : tick,
  };
}

const MINUTE = 60;
const HOUR = 3600;
const TIMES = [
  1,
  2,
  5,
  10,
  20,
  30,
  60,
  120,
  300,
  600,
  1200,
  1800,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
];

/** The first round gap of which at most `most` fit. */
function gapFor(kind: AxisKind, length: number, most: number): number {
  const raw = length / most;
  if (kind === "time" && raw <= 24 * HOUR && raw > 1 / MINUTE) {
    return TIMES.find((gap) => gap >= raw) ?? 24 * HOUR;
  }
  const power = 10 ** Math.floor(Math.log10(raw));
  const gap = ([1, 2, 2.5, 5, 10].find((n) => n * power >= raw * 0.999) ?? 10) * power;
  return kind === "step" ? Math.max(1, Math.ceil(gap)) : gap;
}

const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The next round number: an end that is only estimated then stays in place while the estimate moves a little. */
export function roundUp(x: number): number {
  if (!(x > 0)) return x;
  const power = 10 ** Math.floor(Math.log10(x));
  return (ROUND.find((n) => n * power >= x * 0.9999) ?? 10) * power;
}

/** Round places between the ends; of steps the last one is always named, because it is the end of the job. */
export function axisTicks(axis: Axis, [from, to]: readonly [number, number], most = 3): number[] {
  const gap = gapFor(axis.kind, Math.max(to - from, 1e-9), most);
  const ticks: number[] = [];
  const end = axis.kind === "step" ? to - gap * 0.4 : to;
  for (let at = Math.ceil(from / gap - 1e-9) * gap + 0; at < end + gap * 1e-6; at += gap) ticks.push(at);
  return axis.kind === "step" ? [...ticks, to] : ticks;
}
