/** Steps are sorted and grow at the end while the job runs; a rewind takes some away again. */

/** Where `step` is, or the place before which it would be: the number of smaller steps. */
function before(steps: readonly number[], step: number): number {
  let [from, to] = [0, steps.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((steps[middle] as number) < step) from = middle + 1;
    else to = middle;
  }
  return from;
}

export const indexOfStep = (steps: readonly number[], step: number): number => {
  const at = before(steps, step);
  return steps[at] === step ? at : -1;
};

/** The step nearest to the requested one, the earlier of two; undefined when there is none. */
export function nearest(steps: readonly number[], target: number): number | undefined {
  const at = before(steps, target);
  const [left, right] = [steps[at - 1], steps[at]];
  if (left === undefined || right === undefined) return left ?? right;
  return target - left <= right - target ? left : right;
}

/** `by` steps on from `step`; undefined when the way ends before. */
export function neighbour(steps: readonly number[], step: number, by: 1 | -1): number | undefined {
  const at = before(steps, step);
  if (by < 0) return steps[at - 1];
  return steps[at] === step ? steps[at + 1] : steps[at];
}

/** How many steps come after `step`. */
export const newerThan = (steps: readonly number[], step: number): number =>
  steps.length - before(steps, step + 1);
