import type { TokenLengths } from "@/api/datasets";
import { count, number } from "@/lib/format";

/** How long the prompts are, and whether the model can read them, in one or two sentences. */
export function lengthsSentence(lengths: TokenLengths): string {
  const { median, p90, max, longest_row, context_length, counted, total, failed = 0 } = lengths;
  const spread =
    max === lengths.min
      ? `Every prompt has ${count(max, "token")}.`
      : `Half of the prompts have at most ${count(median, "token")}, nine in ten at most ${number(p90, 6)}; longest: row ${number(longest_row + 1, 6)} with ${count(max, "token")}.`;
  const sample =
    counted + failed < total ? ` Counted on ${number(counted, 6)} of ${count(total, "row")}.` : "";
  if (context_length == null) return spread + sample;
  const room = context_length - max;
  const fit =
    room <= 0
      ? ` The context length is ${number(context_length, 6)}: a job stops at a longer prompt. Shorten or remove such rows.`
      : ` The context length is ${number(context_length, 6)}: at least ${number(room, 6)} remain for the completion.`;
  return spread + fit + sample;
}
