import { SEEDS } from "@/api/compare";
import type { SweepDetail, SweepTrial } from "@/api/sweeps";
import { NOTHING, number } from "@/lib/format";

export const SEED = "seed";
const MOST_COMPARED = 50;

/** A trial's value at a dotted path; a ladder's first trials have none. */
export const settingOf = (trial: SweepTrial, path: string): unknown =>
  path === SEED ? trial.seed : trial.parameters[path];

export const textOf = (value: unknown): string =>
  value === null || value === undefined
    ? NOTHING
    : typeof value === "number"
      ? number(value, 4)
      : typeof value === "string"
        ? value
        : JSON.stringify(value);

/** The last part of a dotted path, as long as it names one parameter only. */
export function shortPath(path: string, paths: readonly string[]): string {
  const last = path.slice(path.lastIndexOf(".") + 1);
  return paths.some((other) => other !== path && other.endsWith(`.${last}`)) ? path : last;
}

type Order = { by: string; descending: boolean };

export const orderOf = (by = "-objective"): Order =>
  by.startsWith("-") ? { by: by.slice(1), descending: true } : { by, descending: false };

const keyOf = (trial: SweepTrial, by: string): unknown =>
  by === "objective"
    ? trial.objective
    : by === "number"
      ? trial.number
      : by === "seconds"
        ? trial.seconds
        : settingOf(trial, by);

/** Sorted; trials without the value are last in either direction. */
export function sorted(trials: readonly SweepTrial[], by?: string): SweepTrial[] {
  const order = orderOf(by);
  const sign = order.descending ? -1 : 1;
  return [...trials].sort((a, b) => {
    const [one, other] = [keyOf(a, order.by), keyOf(b, order.by)];
    if (one == null || other == null)
      return Number(one == null) - Number(other == null) || a.number - b.number;
    const difference =
      typeof one === "number" && typeof other === "number"
        ? one - other
        : textOf(one).localeCompare(textOf(other));
    return sign * difference || a.number - b.number;
  });
}

/** Its jobs, best first behind the first trial's, which is the baseline. */
export function comparedJobs({ trials }: Pick<SweepDetail, "trials">): string[] {
  const first = trials[0]?.job;
  const jobs = sorted(trials).flatMap(({ job }) => (job && job !== first ? [job] : []));
  return (first ? [first, ...jobs] : jobs).slice(0, MOST_COMPARED);
}

/** The comparison of its jobs; jobs that differ in their seed only are one group. */
export function comparisonOf(
  sweep: Pick<SweepDetail, "trials" | "settings">,
): { jobs: string; group?: string } | null {
  const jobs = comparedJobs(sweep);
  if (jobs.length < 2) return null;
  const repeated = sweep.settings.some(({ trials }) => trials.length > 1);
  return { jobs: jobs.join(","), ...(repeated ? { group: SEEDS } : {}) };
}
