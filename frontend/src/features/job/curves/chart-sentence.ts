import { within } from "@/components/chart/model";
import type { Range } from "@/components/chart/zoom";
import { number, percents } from "@/lib/format";
import { courseOf, describe, type Points } from "@/lib/sentence";

const lowerFirst = (sentence: string) => sentence.charAt(0).toLowerCase() + sentence.slice(1);

type Words = Parameters<typeof describe>[1];
type Line = { label: string; source?: Points | undefined; sparse?: boolean };

/** Lines that have a clause of their own; more are listed by their direction. */
const MOST_CLAUSES = 3;

/** The sentence about the visible steps, true for every line that was measured. */
export function linesSentence(lines: readonly Line[], words: Words, range: Range | null): string {
  const measured = lines.flatMap(({ label, source, sparse }) => {
    const points = visible(source, range);
    const own = { ...words, exact: sparse ?? false };
    return points?.values.some((value) => value !== null) ? [{ label, points, own }] : [];
  });
  const [only, ...others] = measured;
  const sentence = !only
    ? describe(undefined, words)
    : others.length === 0
      ? describe(only.points, only.own)
      : measured.length <= MOST_CLAUSES
        ? clauses(measured)
        : directions(measured);
  return range && only ? `Steps ${range[0]}–${range[1]}: ${lowerFirst(sentence)}` : sentence;
}

type Measured = { label: string; points: Points; own: Words };

function visible(source: Points | undefined, range: Range | null): Points | undefined {
  if (!range || !source) return source;
  const [first, last] = within(source.steps, range);
  return { steps: source.steps.slice(first, last + 1), values: source.values.slice(first, last + 1) };
}

const joined = (labels: readonly string[]) =>
  labels.length < 2 ? labels.join("") : `${labels.slice(0, -1).join(", ")} and ${labels.at(-1)}`;

/** "train mean: up from 0.1 to 0.9, steady since step 20; held-out: 1 throughout." Equal clauses are one. */
function clauses(lines: readonly Measured[]): string {
  const labels = new Map<string, string[]>();
  for (const { label, points, own } of lines) {
    const sentence = describe(points, own).replace(/\.$/, "").replace("; ", ", ");
    labels.set(sentence, [...(labels.get(sentence) ?? []), label]);
  }
  const [[all] = [""]] = labels;
  if (labels.size === 1) return `${all} (${joined(lines.map(({ label }) => label))}).`;
  return `${[...labels].map(([sentence, ones]) => `${joined(ones)}: ${lowerFirst(sentence)}`).join("; ")}.`;
}

/** "Up: a (0.1 to 0.9), b (0.2 to 0.8). Level: c." */
function directions(lines: readonly Measured[]): string {
  const groups = new Map<string, string[]>();
  for (const { label, points, own } of lines) {
    const { start, end, rise, clear } = courseOf(points, own.exact) as NonNullable<
      ReturnType<typeof courseOf>
    >;
    const format = own.format ?? number;
    const [from, to] = [format(start), format(end)];
    const moves = clear && from !== to;
    const head = moves ? (rise > 0 ? own.up : own.down) : "Level";
    groups.set(head, [...(groups.get(head) ?? []), moves ? `${label} (${from} to ${to})` : label]);
  }
  return [...groups].map(([head, ones]) => `${head}: ${ones.join(", ")}.`).join(" ");
}

/** What the other groups of a step are: their rewards are equal, which does not make them right. */
export function equalGroups(uniform: number | undefined, above: number | undefined): string {
  if (uniform === undefined || above === undefined) return "of a step";
  if (uniform === 0) return "no group with equal rewards";
  const [, high, low] = groupShares(uniform, above);
  return `${high} equal above 0, ${low} at 0 or below`;
}

/** Groups of a step that are useful, equal above 0, and equal at 0 or below; in percent, 100 together. */
export const groupShares = (uniform: number, above: number) =>
  percents([1 - uniform, above, Math.max(0, uniform - above)]) as [string, string, string];
