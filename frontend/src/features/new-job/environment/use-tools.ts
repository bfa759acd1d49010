import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ApiError } from "@/api/client";
import { type ToolProblem, type ToolSchema, toolsCheckQuery } from "@/api/tools";
import { count } from "@/lib/format";
import { type CheckSource, isFilled, type Source } from "./environment";

const CHECK_AFTER_MS = 500;
const NO_PROBLEMS: readonly ToolProblem[] = [];

/** A tool with the number of its source in the draft. */
export type ListedTool = { source: number; tool: ToolSchema };

export type ToolsReport = {
  tools: readonly ListedTool[];
  /** Problems of a source, the same array while nothing changes. */
  problemsOf: (source: number) => readonly ToolProblem[];
  /** Whether the report is about what the editors say now. */
  current: boolean;
  error: ApiError | null;
  retry: () => void;
};

/** The server's report on the sources: their schemas, or what keeps them from having some. */
export function useTools(sources: readonly Source[], off: boolean): ToolsReport {
  const text = JSON.stringify(sources);
  const [settled] = useDebouncedValue(text, CHECK_AFTER_MS);
  const { places, filled } = useMemo(() => {
    const all = (JSON.parse(settled) as Source[]).map((source, place) => ({ source, place }));
    const used = all.filter(({ source }) => isFilled(source));
    return {
      places: used.map(({ place }) => place),
      filled: used.map(({ source }) => source as unknown as CheckSource),
    };
  }, [settled]);
  const check = useQuery({ ...toolsCheckQuery(filled), enabled: !off && filled.length > 0 });
  const { data } = check;
  return useMemo(() => {
    const fresh = filled.length > 0 && data ? data : undefined;
    const bySource = new Map<number, ToolProblem[]>();
    for (const problem of fresh?.problems ?? []) {
      const place = places[problem.source] ?? problem.source;
      bySource.set(place, [...(bySource.get(place) ?? []), problem]);
    }
    return {
      tools: (fresh?.tools ?? []).map(({ source, tool }) => ({ source: places[source] ?? source, tool })),
      problemsOf: (source: number) => bySource.get(source) ?? NO_PROBLEMS,
      current: settled === text && !check.isPlaceholderData,
      error: check.error as ApiError | null,
      retry: () => void check.refetch(),
    };
  }, [data, places, filled, settled, text, check.isPlaceholderData, check.error, check.refetch]);
}

/** The state of a source in one sentence. */
export function sourceWords(report: ToolsReport, number: number): string {
  const { tools, problemsOf, current, error } = report;
  if (error) return `Not checked. ${error.message} ${error.hint ?? ""}`;
  if (!current) return "Checking…";
  const [first] = problemsOf(number);
  if (first) {
    const place = first.line == null ? "" : `Line ${first.line}: `;
    return `${place}${first.message} ${first.hint ?? ""}`;
  }
  const own = tools.filter(({ source }) => source === number).map(({ tool }) => tool.function.name);
  return own.length === 0 ? "No tools yet." : `${count(own.length, "tool")}: ${own.join(", ")}`;
}
