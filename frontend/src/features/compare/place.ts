import type { ComparedSort, ComparedSplit, Moment } from "@/api/compare";

export const MOST_JOBS = 50;
export const PROMPT_SORTS: readonly ComparedSort[] = ["-difference", "difference", "-reward", "reward"];

/** What the comparison shows: all of it is in the address. */
export type ComparePlace = {
  jobs?: string | undefined;
  at?: Moment | undefined;
  /** Path of a setting, or `seeds`. */
  group?: string | undefined;
  metric?: string | undefined;
  /** Open sections of charts, with commas. */
  sections?: string | undefined;
  split?: ComparedSplit | undefined;
  prompts_by?: ComparedSort | undefined;
  q?: string | undefined;
  /** Hash of the prompt whose completions are read. */
  prompt_hash?: string | undefined;
};

export type Go = (change: Partial<ComparePlace>) => void;

/** Ids of an address, each once. */
export const idsOf = (jobs: string | undefined): string[] => [
  ...new Set((jobs ?? "").split(",").filter((id) => id !== "")),
];

/** The same jobs with another baseline. */
export const withBaseline = (ids: readonly string[], baseline: string): string =>
  [baseline, ...ids.filter((id) => id !== baseline)].join(",");

/** What all names begin with, up to a colon: the name of a sweep. */
function sharedStart(names: readonly string[]): string {
  const [first = ""] = names;
  const start = first.slice(0, first.indexOf(": ") + 2);
  return names.length > 1 && start.length > 2 && names.every((name) => name.startsWith(start)) ? start : "";
}

/** Names of the jobs without what all of them begin with; those that share one get the end of their id. */
export const labelsOf = (jobs: readonly { id: string; name: string }[]): string[] => {
  const start = sharedStart(jobs.map(({ name }) => name)).length;
  const names = new Map<string, number>();
  for (const { name } of jobs) names.set(name, (names.get(name) ?? 0) + 1);
  return jobs.map(({ id, name }) => {
    const label = name.slice(start);
    return (names.get(name) ?? 0) > 1 ? `${label} …${id.slice(-5)}` : label;
  });
};
