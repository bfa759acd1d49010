import type { Series } from "@/api/jobs";

/** A curve without its holes. */
export type Curve = readonly { step: number; value: number }[];

export function curveOf(series: Series | undefined): Curve {
  return (series?.steps ?? []).flatMap((step, i) => {
    const value = series?.values[i];
    return value === null || value === undefined ? [] : [{ step, value }];
  });
}

export const meanOf = (curve: Curve) => curve.reduce((sum, point) => sum + point.value, 0) / curve.length;

/** How many points the ends of a curve are averaged over: a tenth, 1 to 10. */
const endWidth = (curve: Curve) => Math.max(1, Math.min(10, Math.floor(curve.length / 10)));

/** How far points scatter around the curve: the deviation from one to the next, over √2. */
function noiseOf(curve: Curve): number {
  const squares = curve.slice(1).map((point, i) => (point.value - (curve[i]?.value ?? 0)) ** 2);
  return squares.length === 0 ? 0 : Math.sqrt(squares.reduce((a, b) => a + b, 0) / squares.length / 2);
}

export type Trend = { from: number; to: number; direction: "up" | "down" | "flat" };

/** Means of both ends, and whether their difference is more than the scatter explains. */
export function trendOf(curve: Curve): Trend | null {
  if (curve.length < 5) return null;
  const width = endWidth(curve);
  const from = meanOf(curve.slice(0, width));
  const to = meanOf(curve.slice(-width));
  const rise = to - from;
  const scale = Math.max(Math.abs(from), Math.abs(to), 1e-12);
  const clear = Math.abs(rise) > 3 * noiseOf(curve) * Math.sqrt(2 / width) && Math.abs(rise) > 0.03 * scale;
  return { from, to, direction: clear ? (rise > 0 ? "up" : "down") : "flat" };
}

/** Mean of the newest points. */
export function recentOf(curve: Curve, points = 5): number | null {
  return curve.length === 0 ? null : meanOf(curve.slice(-points));
}

/** The step from which on every point keeps to a condition; null when the last one does not. */
export function since(curve: Curve, holds: (value: number) => boolean): number | null {
  let step: number | null = null;
  for (let i = curve.length - 1; i >= 0; i -= 1) {
    const point = curve[i] as Curve[number];
    if (!holds(point.value)) break;
    step = point.step;
  }
  return step;
}
