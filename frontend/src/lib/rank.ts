/** How well a name answers to what was typed, for lists that narrow while one types. */

const WORD_START = /(^|[\s\-_./:])$/;

/**
 * 0 when `query` is not in `name` at all; more for a better fit: the name itself, then its start, the start of a
 * word, somewhere inside, and letters in order with gaps ("dsl" finds "dataset list"). Case does not matter.
 */
export function matchOf(query: string, name: string): number {
  const [needle, text] = [query.trim().toLowerCase(), name.toLowerCase()];
  if (needle === "" || text === needle) return 100;
  if (text.startsWith(needle)) return 90;
  let at = text.indexOf(needle);
  if (at > 0) {
    for (let from = at; from > 0; from = text.indexOf(needle, from + 1)) {
      if (WORD_START.test(text.slice(0, from))) return 80;
    }
    return 60;
  }
  let gaps = 0;
  at = -1;
  for (const letter of needle.replace(/\s/g, "")) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return 0;
    if (at >= 0 && next > at + 1) gaps += 1;
    at = next;
  }
  return Math.max(1, 40 - 12 * gaps);
}

/** What fits, best first; those that fit alike stay in their order. Other words (an id, a synonym) count a little less. */
export function rank<Item extends { label: string; also?: string }>(
  query: string,
  items: readonly Item[],
): Item[] {
  const LEAST = 10;
  return items
    .map((item, i) => ({
      item,
      i,
      score: Math.max(matchOf(query, item.label), matchOf(query, item.also ?? "") - 5),
    }))
    .filter(({ score }) => score >= LEAST)
    .sort((a, b) => b.score - a.score || a.i - b.i)
    .map(({ item }) => item);
}
