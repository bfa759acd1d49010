import type { LogEntry } from "@/api/jobs";

export const LEVELS = ["all", "warnings", "errors"] as const;
export type Level = (typeof LEVELS)[number];

/** Levels that each choice lets through; what is unknown counts as worth reading. */
const HIDDEN: Record<Level, ReadonlySet<string>> = {
  all: new Set(),
  warnings: new Set(["debug", "info"]),
  errors: new Set(["debug", "info", "warning"]),
};

export function select(lines: readonly LogEntry[], level: Level, query: string): readonly LogEntry[] {
  const text = query.trim().toLowerCase();
  if (level === "all" && text === "") return lines;
  return lines.filter((line) => !HIDDEN[level].has(line.level) && line.message.toLowerCase().includes(text));
}

/** The text around every match of a search: pieces at odd places are the matches. */
export function pieces(text: string, query: string): string[] {
  const needle = query.trim();
  if (needle === "") return [text];
  const escaped = needle.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.split(new RegExp(`(${escaped})`, "gi"));
}

export type Block = { key: number; attempt: number; first: boolean; lines: readonly LogEntry[] };

/** Lines in blocks that are drawn and skipped as one: at most `size` lines, never of two attempts. */
export function blocks(lines: readonly LogEntry[], size: number): Block[] {
  const out: { key: number; attempt: number; first: boolean; lines: LogEntry[] }[] = [];
  for (const line of lines) {
    const last = out.at(-1);
    if (!last || last.attempt !== line.attempt || last.lines.length >= size) {
      out.push({
        key: line.seq,
        attempt: line.attempt,
        first: last?.attempt !== line.attempt,
        lines: [line],
      });
    } else last.lines.push(line);
  }
  return out;
}

export const clock = (ts: number) => new Date(ts * 1000).toLocaleTimeString("en-GB");

/** The log as a text file: times in UTC, one line of the log on one line unless it has several itself. */
export function asText(lines: readonly LogEntry[]): string {
  return lines
    .map(
      ({ ts, level, message, attempt }) =>
        `${new Date(ts * 1000).toISOString()} ${level.toUpperCase().padEnd(7)} [attempt ${attempt}] ${message}\n`,
    )
    .join("");
}
