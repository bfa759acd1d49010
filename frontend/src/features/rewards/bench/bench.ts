import type { RewardTestResult, RewardTestRow } from "@/api/rewards";
import type { Message, Row } from "@/lib/prompt";

export const MOST_ROWS = 16;
/** What one request scores. The same as `RewardTest.rows`. */
export const MOST_TESTED = 256;

export type BenchCompletion = {
  text: string;
  from: "reference" | "typed" | "sampled" | "stored";
  done: boolean;
};

/** One row of a dataset (or one written by hand) with the completions that are to be scored. */
export type Case = {
  key: string;
  row: number | null;
  item: Row;
  prompt: Message[];
  completions: BenchCompletion[];
};

/** Which rows: `from`–`to` counted from 1, or `count` random ones of a seed. */
export type RowChoice =
  | { how: "range"; from: number; to: number }
  | { how: "random"; count: number; seed: number };

export const FIRST_ROWS: RowChoice = { how: "range", from: 1, to: 4 };

/** "3-8" and "random-4-17" of an address; anything else is the first rows. */
export function readChoice(text: string | undefined): RowChoice {
  const range = text?.match(/^(\d{1,9})-(\d{1,9})$/);
  if (range) return tidy({ how: "range", from: Number(range[1]), to: Number(range[2]) });
  const random = text?.match(/^random-(\d{1,3})-(\d{1,9})$/);
  if (random) return tidy({ how: "random", count: Number(random[1]), seed: Number(random[2]) });
  return FIRST_ROWS;
}

export function writeChoice(choice: RowChoice): string {
  return choice.how === "range" ? `${choice.from}-${choice.to}` : `random-${choice.count}-${choice.seed}`;
}

/** The completions of a job at a step, as an address has them: "ftjob-7:12"; without a step its newest. */
export type StoredChoice = { job: string; step?: number };

export function readStored(text: string | undefined): StoredChoice | null {
  const [, job, step] = text?.match(/^([A-Za-z][\w-]{0,99}):(\d{1,9})?$/) ?? [];
  return job ? { job, ...(step === undefined ? {} : { step: Number(step) }) } : null;
}

export const writeStored = ({ job, step }: StoredChoice) => `${job}:${step ?? ""}`;

/** A choice of 1 to 16 rows, in order. */
export function tidy(choice: RowChoice): RowChoice {
  if (choice.how === "random") return { ...choice, count: clamp(choice.count, 1, MOST_ROWS) };
  const from = Math.max(1, Math.round(choice.from));
  return { ...choice, from, to: clamp(choice.to, from, from + MOST_ROWS - 1) };
}

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, Math.round(value)));

/** Row numbers from 0, ascending, all inside the dataset. The same seed gives the same rows. */
export function rowsOf(choice: RowChoice, total: number): number[] {
  if (choice.how === "range") {
    const from = Math.min(choice.from, Math.max(1, total));
    const rows = Array.from({ length: choice.to - choice.from + 1 }, (_, i) => from - 1 + i);
    return rows.filter((row) => row < total);
  }
  const next = mulberry(choice.seed);
  const rows = new Set<number>();
  while (rows.size < Math.min(choice.count, total)) rows.add(Math.floor(next() * total));
  return [...rows].sort((a, b) => a - b);
}

/** Small seeded generator of numbers in [0, 1). */
function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Consecutive rows as (offset, limit), so that they are read with few requests. */
export function windows(rows: readonly number[]): { offset: number; limit: number }[] {
  const pages: { offset: number; limit: number }[] = [];
  for (const row of rows) {
    const last = pages.at(-1);
    if (last && row === last.offset + last.limit) last.limit += 1;
    else pages.push({ offset: row, limit: 1 });
  }
  return pages;
}

/** What is sent, with where each of it came from; running samples wait for the next run. */
export type Tested = { case: Case; completion: string; reference: boolean; row: RewardTestRow };

export function flatten(cases: readonly Case[]): Tested[] {
  return cases.flatMap((one) =>
    one.completions
      .filter(({ done }) => done)
      .map(({ text, from }) => ({
        case: one,
        completion: text,
        reference: from === "reference",
        row: { completion: text, item: one.item, prompt: one.prompt },
      })),
  );
}

/** A finished run: requests and results in the same order. */
export type Run = { source: string; tested: Tested[]; answer: RewardTestResult };

/** Scores by row, for the verdict; failed completions have none. */
export function scoresOf({ tested, answer }: Run): { group: number; value: number | null }[] {
  const groups = [...new Set(tested.map((one) => one.case.key))];
  return answer.results.map((result, i) => ({
    group: groups.indexOf(tested[i]?.case.key ?? ""),
    value: result.status === "ok" ? result.value : null,
  }));
}

/** The text of a JSON object, or what is wrong with it. */
export function parseItem(text: string): { item: Row } | { fault: string } {
  try {
    const item: unknown = JSON.parse(text);
    if (typeof item === "object" && item !== null && !Array.isArray(item)) return { item: item as Row };
    return { fault: 'A row is one JSON object, such as {"answer": "120"}.' };
  } catch (error) {
    return { fault: `Not valid JSON: ${(error as Error).message}` };
  }
}
