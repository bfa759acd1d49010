import { useMemo } from "react";
import { Chart } from "@/components/chart/Chart";
import type { ChartLine } from "@/components/chart/model";
import type { FindingMark } from "@/components/chart/space";
import type { Range } from "@/components/chart/zoom";
import type { MetricHelp } from "@/lib/metric-help";
import { marksSentence } from "../overview/finding-marks";
import { pick, type SeriesMap } from "../series";
import { linesSentence } from "./chart-sentence";
import type { ChartDef } from "./charts";
import { BAND_KEYS, bandOf } from "./reward-band";

type Props = {
  def: ChartDef;
  series: SeriesMap;
  range: Range | null;
  height: number;
  help: MetricHelp | undefined;
  /** Where problems began that the chart shows. */
  findings: readonly FindingMark[];
  log: boolean;
  onLog: (() => void) | undefined;
  onMaximise?: (() => void) | undefined;
  pin?: { isPinned: boolean; onToggle: () => void } | undefined;
};

/** A chart of the catalogue over a job's series; redrawn only when one of its own series has new points. */
export function MetricChart({ def, series, range, findings, ...rest }: Props) {
  const sources = def.lines.map((line) => pick(series, line.key));
  const bandSources = (def.band ? [def.band.low, def.band.high, ...BAND_KEYS] : []).map((key) =>
    pick(series, key),
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: the series are the parts, one dependency each
  const lines = useMemo<ChartLine[]>(
    () => def.lines.map((line, i) => ({ ...line, source: sources[i] })),
    [def, ...sources],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: what a band is made of, one dependency each
  const band = useMemo(() => bandOf(def, series), [def, ...bandSources]);
  const summary = useMemo(() => linesSentence(lines, def, range), [lines, def, range]);

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
      summary={summary + marksSentence(findings)}
      findings={findings}
      {...rest}
    />
  );
}
