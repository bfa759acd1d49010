import { NativeSelect } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type ComparedJob, curveQuery } from "@/api/compare";
import { metaQuery } from "@/api/meta";
import { STEPS } from "@/components/chart/axis";
import { Chart } from "@/components/chart/Chart";
import type { ChartColor, ChartLine } from "@/components/chart/model";
import { ChartSpaceProvider } from "@/components/chart/space";
import type { Range } from "@/components/chart/zoom";
import { count, number } from "@/lib/format";
import { metricHelp } from "@/lib/metric-help";
import styles from "./Compare.module.css";
import { labelsOf } from "./place";

const COLORS: readonly ChartColor[] = ["c1", "c2", "c3", "c4"];
const DEFAULT = "held_out/reward_mean";

type Props = { jobs: readonly ComparedJob[]; metric: string | undefined; onMetric: (key: string) => void };

/** One metric of all jobs in one chart. */
export function Overlay({ jobs, metric = DEFAULT, onMetric }: Props) {
  const meta = useQuery(metaQuery).data;
  const metrics = meta?.metrics ?? [];
  const described = metrics.find(({ key }) => key === metric);
  const curves = useQueries({ queries: jobs.map((job) => curveQuery(job.id, metric)) });
  const [range, setRange] = useState<Range | null>(null);
  const series = curves.map((curve) => curve.data?.series[0]);
  const labels = useMemo(() => labelsOf(jobs), [jobs]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each series is a dependency of its own
  const lines = useMemo<ChartLine[]>(
    () =>
      jobs.map((job, i) => ({
        label: labels[i] ?? job.name,
        color: COLORS[i % COLORS.length] as ChartColor,
        dash: Math.floor(i / COLORS.length) % 2 === 1,
        sparse: metric.startsWith("held_out/"),
        source: series[i],
      })),
    [jobs, labels, metric, ...series],
  );
  const last = Math.max(1, ...series.map((one) => one?.steps.at(-1) ?? 0));
  const ends = jobs.flatMap((_, i) => {
    const value = series[i]?.values.findLast((one) => one !== null);
    return value === null || value === undefined ? [] : [`${labels[i]} ends at ${number(value)}`];
  });
  return (
    <ChartSpaceProvider
      value={{
        axis: STEPS,
        lastStep: last,
        current: null,
        range,
        smoothing: 0,
        log: false,
        sync: "compare",
        name: "compare",
        onZoom: setRange,
        onBack: () => setRange(null),
        onReset: () => setRange(null),
      }}
    >
      <NativeSelect
        className={styles.metric}
        label="Metric"
        value={metric}
        data={metrics.map(({ key, title }) => ({ value: key, label: title }))}
        onChange={(event) => {
          setRange(null);
          onMetric(event.currentTarget.value);
        }}
      />
      <Chart
        title={described?.title ?? metric}
        unit={described?.unit ?? ""}
        help={metricHelp(metric, meta)}
        lines={lines}
        height={260}
        summary={ends.length > 0 ? `${ends.join("; ")}.` : `No values of ${count(jobs.length, "job")} yet.`}
      />
    </ChartSpaceProvider>
  );
}
