/** Marks the words of a search in a text. The search itself is the server's; this shows the reader why a text was found. */

export type Piece = { text: string; hit: boolean };

/** The words and "exact phrases" of a web search; `-without` and `or` mark nothing. */
export function terms(query: string): string[] {
  const words: string[] = [];
  for (const [, minus, phrase, word] of query.matchAll(/(-?)(?:"([^"]*)"?|(\S+))/g)) {
    const text = (phrase ?? word ?? "").trim();
    if (minus || text === "" || /^or$/i.test(text)) continue;
    words.push(text);
  }
  return words;
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+");

function pattern(words: readonly string[]): RegExp | null {
  const alternatives = words.map(escaped).sort((a, b) => b.length - a.length);
  return alternatives.length > 0 ? new RegExp(alternatives.join("|"), "giu") : null;
}

/** The text in pieces, in order; joined they are the text. */
export function mark(text: string, words: readonly string[]): Piece[] {
  const expression = pattern(words);
  if (!expression) return text === "" ? [] : [{ text, hit: false }];
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(expression)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), hit: false });
    pieces.push({ text: match[0], hit: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), hit: false });
  return pieces;
}

const BEFORE = 60;

/** About `length` characters around the first hit, on one line; `…` where something was left out. */
export function excerpt(text: string, words: readonly string[], length = 240): string {
  const at = pattern(words)?.exec(text)?.index ?? 0;
  const from = at > BEFORE ? at - BEFORE : 0;
  const cut = text
    .slice(from, from + length)
    .replace(/\s+/g, " ")
    .trim();
  return (from > 0 ? "… " : "") + cut + (from + length < text.length ? " …" : "");
}
