/** A problem by line and column, both from 1, as the server tells it; without a line it is the whole source's. */
export type CodeProblem = {
  message: string;
  line?: number | null;
  column?: number | null;
  hint?: string | null;
};

export type CodeRange = { from: number; to: number };

/**
 * Where a problem is underlined: from its column to the end of the word there, or the whole line without its
 * indentation. A place behind the end of the source (an unclosed bracket) moves to its last line.
 */
export function rangeOf({ line, column }: CodeProblem, source: string): CodeRange {
  const lines = source.split("\n");
  const at = Math.min(Math.max(line ?? 1, 1), lines.length) - 1;
  const start = lines.slice(0, at).reduce((sum, text) => sum + text.length + 1, 0);
  const text = lines[at] as string;
  const end = start + text.trimEnd().length;
  const indent = text.length - text.trimStart().length;
  if (column == null || column > text.length) return { from: Math.min(start + indent, end), to: end };
  const from = start + column - 1;
  const word = text.slice(column - 1).match(/^(?:\w+|.)/u)?.[0].length ?? 0;
  return { from, to: Math.max(from, Math.min(start + text.length, from + word)) };
}
