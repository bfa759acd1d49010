import type { ComparedSort, ComparedSplit, Moment } from "@/api/compare";

export const MOST_JOBS = 50;
export const PROMPT_SORTS: readonly ComparedSort[] = ["-difference", "difference", "-reward", "reward"];
export const SEEDS = "seeds";

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

/** Names of the jobs; those that share one get the end of their id. */
export const labelsOf = (jobs: readonly { id: string; name: string }[]): string[] => {
  const names = new Map<string, number>();
  for (const { name } of jobs) names.set(name, (names.get(name) ?? 0) + 1);
  return jobs.map(({ id, name }) => ((names.get(name) ?? 0) > 1 ? `${name} …${id.slice(-5)}` : name));
};
