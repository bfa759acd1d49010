import { useMemo } from "react";
import type { Series } from "@/api/jobs";
import { Chart } from "@/components/chart/Chart";
import { type ChartBand, type ChartLine, within } from "@/components/chart/model";
import type { Range } from "@/components/chart/zoom";
import { describe } from "@/lib/sentence";
import type { ChartDef } from "./chart-defs";
import { pick, type SeriesMap } from "./series";

type Props = {
  def: ChartDef;
  series: SeriesMap;
  range: Range | null;
  height: number;
  meaning: string | undefined;
  log: boolean;
  onLog: (() => void) | undefined;
  onMaximise?: (() => void) | undefined;
};

/** The sentence, about the visible steps. */
function say(series: Series | undefined, def: ChartDef, range: Range | null): string {
  if (!range || !series) return describe(series, def);
  const [first, last] = within(series.steps, range);
  const part = {
    steps: series.steps.slice(first, last + 1),
    values: series.values.slice(first, last + 1),
  };
  const sentence = describe(part, def);
  return `Steps ${range[0]}–${range[1]}: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

/** A chart of the catalogue over a job's series; redrawn only when one of its own series has new points. */
export function MetricChart({ def, series, range, ...rest }: Props) {
  const sources = def.lines.map((line) => pick(series, line.key));
  const low = def.band && pick(series, def.band.low);
  const high = def.band && pick(series, def.band.high);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the series are the parts, one dependency each
  const lines = useMemo<ChartLine[]>(
    () => def.lines.map((line, i) => ({ ...line, source: sources[i] })),
    [def, ...sources],
  );
  const band = useMemo<ChartBand | undefined>(
    () => def.band && { label: def.band.label, color: def.band.color, low, high },
    [def, low, high],
  );
  const summary = useMemo(() => say(lines[0]?.source as Series | undefined, def, range), [lines, def, range]);

  return (
    <Chart
      title={def.title}
      unit={def.unit}
      lines={lines}
      band={band}
      min={def.min}
      max={def.max}
      format={def.format}
      tick={def.tick}
      summary={summary}
      {...rest}
    />
  );
}
