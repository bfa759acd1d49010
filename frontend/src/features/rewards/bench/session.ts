import type { BenchCompletion, Run } from "./bench";

/** What was tried on the bench: it goes along when the reward is saved, and survives a change of tab. */
export type BenchSession = {
  /** Completions by case, where they are not those that a row begins with. */
  completions: Record<string, BenchCompletion[]>;
  /** The row written by hand, as JSON. */
  item: string | null;
  run: Run | null;
};

export const EMPTY_SESSION: BenchSession = { completions: {}, item: null, run: null };

/** The part that a later page can use: a sampling that is still running ends with this page. */
export const settled = ({ completions, ...rest }: BenchSession): BenchSession => ({
  ...rest,
  completions: Object.fromEntries(
    Object.entries(completions).map(([key, list]) => [
      key,
      list.flatMap((one) => (one.done ? [one] : one.text === "" ? [] : [{ ...one, done: true }])),
    ]),
  ),
});
