import { AXES, type AxisKind, roundUp } from "@/components/chart/axis";
import type { Range } from "@/components/chart/zoom";

/** View of the curves; all of it is in the address, so that a link shows the same. */
export type View = {
  axis: AxisKind;
  /** The axis of a job that is under way ends where the job will, not where it is. */
  whole: boolean;
  /** Visible steps; null is all of them. */
  range: Range | null;
  /** 0 is off, 0.99 the most. */
  smoothing: number;
  /** Every chart on a log axis, or the ids of those that are. */
  log: "all" | readonly string[];
  /** Words or a regular expression that a chart must contain. */
  filter: string;
  /** Charts without change are open. */
  quiet: boolean;
  /** Id of the chart that is shown large. */
  large: string | null;
};

/** The same as search params; what is as usual is left out. */
export type ViewSearch = {
  x?: AxisKind | undefined;
  whole?: boolean | undefined;
  zoom?: string | undefined;
  smooth?: number | undefined;
  log?: string | undefined;
  metrics?: string | undefined;
  quiet?: boolean | undefined;
  chart?: string | undefined;
};

export const MOST_SMOOTHING = 0.99;

const text = (value: unknown) =>
  (typeof value === "string" || typeof value === "number") && value !== "" ? String(value) : undefined;

const isOn = (value: unknown) => value === true || value === 1;

function rangeOf(value: unknown): Range | null {
  const [, from, to] = /^(\d{1,9})-(\d{1,9})$/.exec(text(value) ?? "") ?? [];
  return from !== undefined && Number(from) < Number(to) ? [Number(from), Number(to)] : null;
}

function smoothingOf(value: unknown): number {
  const number = Math.round(Number(value) * 100) / 100;
  return number > 0 ? Math.min(number, MOST_SMOOTHING) : 0;
}

/** Search params as they should be; what makes no sense is dropped. */
export function validateView(search: Record<string, unknown>): ViewSearch {
  return toSearch(toView(search));
}

export function toView(search: Record<string, unknown>): View {
  const log = text(search.log);
  return {
    axis: AXES.find((kind) => kind === search.x) ?? "step",
    whole: isOn(search.whole),
    range: rangeOf(search.zoom),
    smoothing: smoothingOf(search.smooth),
    log: log === "all" ? "all" : (log?.split(",").filter((id) => /^[\w-]{1,80}$/.test(id)) ?? []),
    filter: text(search.metrics)?.slice(0, 200) ?? "",
    quiet: isOn(search.quiet),
    large: text(search.chart) ?? null,
  };
}

export function toSearch({ axis, whole, range, smoothing, log, filter, quiet, large }: View): ViewSearch {
  return {
    x: axis === "step" ? undefined : axis,
    whole: whole || undefined,
    zoom: range ? `${range[0]}-${range[1]}` : undefined,
    smooth: smoothing || undefined,
    log: log === "all" ? log : log.join(",") || undefined,
    metrics: filter || undefined,
    quiet: quiet || undefined,
    chart: large ?? undefined,
  };
}

const FIRST_END = 10;

/** The last step of the axis: a round one at or after the steps so far, so that it seldom moves; or the job's end. */
export function lastOnAxis(view: Pick<View, "whole">, step: number, steps: number): number {
  const end = Math.max(steps, step, 1);
  return view.whole ? end : Math.min(end, Math.max(FIRST_END, roundUp(step)));
}

/** The view with one chart's axis switched. */
export function withLog(view: View, id: string): View {
  if (view.log === "all") return view;
  const others = view.log.filter((one) => one !== id);
  return { ...view, log: others.length < view.log.length ? others : [...others, id] };
}

/** Whether a text passes the filter: as a regular expression, or where that is none, by every one of its words. */
export function matcher(filter: string): (haystack: string) => boolean {
  const query = filter.trim();
  if (!query) return () => true;
  const words = query.toLowerCase().split(/\s+/);
  const byWords = (haystack: string) => words.every((word) => haystack.toLowerCase().includes(word));
  if (!/[\\^$.*+?()[\]{}|]/.test(query)) return byWords;
  try {
    const pattern = new RegExp(query, "i");
    return (haystack) => pattern.test(haystack);
  } catch {
    return byWords;
  }
}
