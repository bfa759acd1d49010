import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef } from "react";
import { isFinal, type JobDetail, metricRangeQuery, metricsQuery } from "@/api/jobs";
import { isShortened } from "@/api/live-state";
import type { ChartSpace } from "@/components/chart/space";
import { clamp, type Range, type Zoom, zoomBack, zoomTo } from "@/components/chart/zoom";
import { axisOf, lastStep, type SeriesMap, zoomedMap } from "../series";
import { lastOnAxis, type View } from "./view-state";

/** The series as the view needs them: of a long job the visible range is fetched as finely as it was measured. */
export function useVisibleSeries(id: string, series: SeriesMap, range: Range | null): SeriesMap {
  const shortened = isShortened(useQuery(metricsQuery(id)).data);
  const [from, to] = range ?? [0, 0];
  const fine = useQuery({ ...metricRangeQuery(id, from, to), enabled: shortened && range !== null });
  return useMemo(
    () => (shortened ? zoomedMap(series, fine.data, range) : series),
    [shortened, series, fine.data, range],
  );
}

type Set = (view: View) => void;

/** Range changes with history. The address has the range itself. */
export function useZoom(view: View, setView: Set, last: number) {
  const back = useRef<Zoom["back"]>([]);
  const latest = useRef({ view, setView, last });
  latest.current = { view, setView, last };
  const go = useCallback((next: (zoom: Zoom) => Zoom) => {
    const now = latest.current;
    const zoom = next({ range: now.view.range, back: back.current });
    back.current = zoom.back;
    if (zoom.range !== now.view.range) now.setView({ ...now.view, range: zoom.range });
  }, []);
  const onZoom = useCallback(
    (range: Range) => go((zoom) => zoomTo(zoom, clamp(range, latest.current.last))),
    [go],
  );
  const onBack = useCallback(() => go(zoomBack), [go]);
  const onReset = useCallback(() => go((zoom) => zoomTo(zoom, null)), [go]);
  return useMemo(() => ({ onZoom, onBack, onReset }), [onZoom, onBack, onReset]);
}

/** What the charts of a job share. */
export function useChartSpaceOf(
  job: JobDetail,
  series: SeriesMap,
  view: View,
  zoom: ReturnType<typeof useZoom>,
  marks: readonly number[],
  onPick: (step: number) => void,
): ChartSpace {
  const step = lastStep(series);
  const pick = useRef(onPick);
  pick.current = onPick;
  const last = lastOnAxis(view, step, job.progress.steps);
  const whole = Math.max(job.progress.steps, step, 1);
  const live = !isFinal(job.status) || undefined;
  const current = live && step > 0 ? step : null;
  const startedAt = job.started_at;
  const axis = useMemo(() => axisOf(view.axis, series, startedAt), [view.axis, series, startedAt]);
  const { range, smoothing, log } = view;
  return useMemo(
    () => ({
      axis,
      lastStep: last,
      allSteps: whole,
      current,
      live,
      range,
      marks,
      smoothing,
      log: log === "all",
      sync: `job ${job.id}`,
      name: job.name,
      ...zoom,
      onPick: (at: number) => pick.current(at),
    }),
    [axis, last, whole, current, live, range, marks, smoothing, log, job.id, job.name, zoom],
  );
}
