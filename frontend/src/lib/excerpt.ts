/** A piece of text cut around its fault: before it, the faulty character, after it. */
export type Marked = readonly [before: string, fault: string, after: string];

/**
 * Where the fault stands in an excerpt. `caret` counts characters (code points, as the server does) from 0; behind
 * the last one nothing is faulty but something is missing, which a visible blank stands for. Null without a place.
 */
export function markFault(excerpt: string, caret: number | null | undefined): Marked | null {
  if (caret === null || caret === undefined || caret < 0) return null;
  const characters = [...excerpt];
  if (caret >= characters.length) return [excerpt, "␣", ""];
  return [
    characters.slice(0, caret).join(""),
    characters[caret] === " " ? "␣" : (characters[caret] as string),
    characters.slice(caret + 1).join(""),
  ];
}
