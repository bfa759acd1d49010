import type { Cell } from "./model";

/**
 * Debiased exponential moving average, weighted by distance: `weight` is what is left of a value one `unit` of x
 * later, so that points that stand close together (several per unit) and points that stand for many steps smooth the
 * same curve. Debiased means that the first values are not pulled towards 0. Holes stay holes.
 */
export function smooth(
  xs: readonly number[],
  values: readonly Cell[],
  weight: number,
  unit: number,
): readonly Cell[] {
  if (weight <= 0) return values;
  const decay = Math.min(weight, 0.999);
  const result: Cell[] = new Array(values.length);
  let sum = 0;
  let total = 0;
  let last: number | undefined;
  let gap = 0;
  let fade = 1;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (value === null || value === undefined) {
      result[i] = value;
      continue;
    }
    const x = xs[i] as number;
    // Points mostly stand equally far apart: a power is only taken where the distance changes.
    if (last !== undefined && x - last !== gap) {
      gap = x - last;
      fade = decay ** (gap / unit);
    }
    sum = sum * fade + value;
    total = total * fade + 1;
    last = x;
    result[i] = sum / total;
  }
  return result;
}

/** Steps over which the weight is one factor: a step, or a thousandth of a longer job, so that it stays visible. */
export const smoothUnit = (lastStep: number) => Math.max(1, lastStep / 1000);
