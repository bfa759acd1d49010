import { within } from "@/components/chart/model";
import type { Range } from "@/components/chart/zoom";
import { percent } from "@/lib/format";
import { describe, type Points } from "@/lib/sentence";

const lowerFirst = (sentence: string) => sentence.charAt(0).toLowerCase() + sentence.slice(1);

type Words = Parameters<typeof describe>[1];
type Line = { label: string; source?: Points | undefined };

/** The sentence about the visible steps of the first line, which it names where the chart has several. */
export function linesSentence(lines: readonly Line[], words: Words, range: Range | null): string {
  const [line] = lines;
  const several = lines.filter(({ source }) => source).length > 1;
  const sentence = visibleSentence(line?.source, words, range);
  return several ? `${line?.label}: ${lowerFirst(sentence)}` : sentence;
}

function visibleSentence(points: Points | undefined, words: Words, range: Range | null): string {
  if (!range || !points) return describe(points, words);
  const [first, last] = within(points.steps, range);
  const part = { steps: points.steps.slice(first, last + 1), values: points.values.slice(first, last + 1) };
  return `Steps ${range[0]}–${range[1]}: ${lowerFirst(describe(part, words))}`;
}

/** What the other groups of a step are: their rewards are equal, which does not make them right. */
export function equalGroups(uniform: number | undefined, above: number | undefined): string {
  if (uniform === undefined || above === undefined) return "of a step";
  if (uniform === 0) return "no group with equal rewards";
  const [high, low] = [percent(above), percent(Math.max(0, uniform - above))];
  return `${high} equal above 0, ${low} at 0 or below`;
}
