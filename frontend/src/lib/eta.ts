export type Eta = { low: number; middle: number; high: number };

const WINDOW = 30;
const ENOUGH = 3;

function quantile(sorted: readonly number[], q: number): number {
  const at = (sorted.length - 1) * q;
  const below = sorted[Math.floor(at)] as number;
  const above = sorted[Math.ceil(at)] as number;
  return below + (above - below) * (at - Math.floor(at));
}

/**
 * Seconds left, from when the latest steps ended (unix seconds): the median step, with the quartiles as a range.
 * Pauses between steps (evaluation, checkpoints) count, because the rest of the job has them too.
 */
export function estimate(ends: readonly number[], stepsLeft: number): Eta | null {
  if (stepsLeft <= 0) return null;
  const latest = ends.slice(-WINDOW - 1);
  const gaps = latest.slice(1).map((end, i) => end - (latest[i] as number));
  const usable = gaps.filter((gap) => gap > 0).sort((a, b) => a - b);
  if (usable.length < ENOUGH) return null;
  return {
    low: quantile(usable, 0.25) * stepsLeft,
    middle: quantile(usable, 0.5) * stepsLeft,
    high: quantile(usable, 0.75) * stepsLeft,
  };
}
