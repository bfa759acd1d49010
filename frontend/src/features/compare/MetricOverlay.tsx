import { useMemo } from "react";
import type { MetricCurves } from "@/api/compare";
import type { ChartScale, Meta } from "@/api/meta";
import { Chart } from "@/components/chart/Chart";
import { number, percent, reward, tick } from "@/lib/format";
import { metricHelp } from "@/lib/metric-help";
import { type Entry, endsSentence, linesOf } from "./lines";
import type { MetricDef } from "./metrics";

type Props = {
  def: MetricDef;
  curves: MetricCurves | undefined;
  entries: readonly Entry[];
  highlighted: readonly string[];
  meta: Meta | undefined;
  height: number;
  legend: boolean;
  onEnlarge?: (() => void) | undefined;
};

const FORMATS: Record<ChartScale["format"], (value: number) => string> = { number, percent, reward };

/** One metric of all jobs or groups in one chart. */
export function MetricOverlay({ def, curves, entries, highlighted, meta, height, legend, onEnlarge }: Props) {
  const { key, title, unit, scale } = def;
  const lines = useMemo(() => linesOf(curves, entries, highlighted), [curves, entries, highlighted]);
  const format = FORMATS[scale?.format ?? "number"];
  return (
    <Chart
      title={title}
      unit={unit}
      help={metricHelp(key, meta)}
      lines={lines}
      min={scale?.start ?? undefined}
      max={scale?.end ?? undefined}
      format={format}
      tick={scale?.format === "percent" ? percent : tick}
      height={height}
      summary={curves ? endsSentence(lines, format) : "Loading…"}
      legend={legend}
      onMaximise={onEnlarge}
    />
  );
}
