import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { isFinal, type JobDetail } from "@/api/jobs";
import { metaQuery } from "@/api/platform";
import { count } from "@/lib/format";
import { BIG, type ChartDef, smallCharts } from "./chart-defs";
import { MetricChart } from "./MetricChart";
import styles from "./Overview.module.css";
import { lastStep, type SeriesMap } from "./series";

type Props = { job: JobDetail; series: SeriesMap; onPick: (step: number) => void };

type KlSpec = { algorithm?: { loss?: { kl?: { beta?: number } } } };

/** The curves: the big three, then small multiples of everything that is measured. */
export function Overview({ job, series, onPick }: Props) {
  const catalogue = useQuery(metaQuery).data?.metrics;
  const beta = ((job.resolved_spec ?? job.spec) as KlSpec).algorithm?.loss?.kl?.beta ?? 0;
  const names = [...series.values()].filter((one) => one.values.some((value) => value !== null));
  const keys = names.map((one) => one.key).join(" ");
  const small = useMemo(
    () => smallCharts(keys ? keys.split(" ") : [], beta > 0, catalogue ?? []),
    [keys, beta, catalogue],
  );
  const step = lastStep(series);

  const draw = (def: ChartDef, height: number) => {
    const about = def.about ?? def.lines[0]?.key;
    const metric = catalogue?.find((one) => one.key === about);
    return (
      <MetricChart
        key={def.title}
        def={def}
        series={series}
        lastStep={Math.max(job.progress.steps, step)}
        current={isFinal(job.status) || step === 0 ? null : step}
        height={height}
        meaning={metric && `${metric.meaning} ${metric.reading ?? ""}`}
        sync={`job ${job.id}`}
        onPick={onPick}
      />
    );
  };

  return (
    <>
      <div className={styles.big}>{BIG.map((def) => draw(def, 190))}</div>
      <div className={styles.small}>{small.fixed.map((def) => draw(def, 120))}</div>
      {small.rest.length > 0 && (
        <details className={styles.more}>
          <summary>{count(small.rest.length, "more metric")}</summary>
          <div className={styles.small}>{small.rest.map((def) => draw(def, 120))}</div>
        </details>
      )}
    </>
  );
}
