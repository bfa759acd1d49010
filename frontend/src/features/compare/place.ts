import type { Moment } from "@/api/compare";

export const MOST_JOBS = 50;

/** What the comparison shows: all of it is in the address. */
export type ComparePlace = {
  jobs?: string | undefined;
  at?: Moment | undefined;
  metric?: string | undefined;
};

/** Ids of an address, each once. */
export const idsOf = (jobs: string | undefined): string[] => [
  ...new Set((jobs ?? "").split(",").filter((id) => id !== "")),
];

/** The same jobs with another baseline. */
export const withBaseline = (ids: readonly string[], baseline: string): string =>
  [baseline, ...ids.filter((id) => id !== baseline)].join(",");

/** Names of the jobs; those that share one get the end of their id. */
export const labelsOf = (jobs: readonly { id: string; name: string }[]): string[] =>
  jobs.map(({ id, name }) =>
    jobs.some((other) => other.id !== id && other.name === name) ? `${name} …${id.slice(-5)}` : name,
  );
