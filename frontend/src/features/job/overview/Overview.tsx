import { Modal } from "@mantine/core";
import { useViewportSize } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { changesQuery } from "@/api/job-changes";
import { isFinal, type JobDetail } from "@/api/jobs";
import { metaQuery } from "@/api/platform";
import { ChartSpaceProvider } from "@/components/chart/space";
import { bigCharts, type ChartDef, chartGroups, KL, searchText } from "../curves/chart-defs";
import { KlCard } from "../curves/KlCard";
import { MetricChart } from "../curves/MetricChart";
import { Toolbar } from "../curves/Toolbar";
import { useChartSpaceOf, useVisibleSeries, useZoom } from "../curves/use-curves";
import { matcher, type View, withLog } from "../curves/view-state";
import { Family } from "../forks/Family";
import { lastStep, type SeriesMap } from "../series";
import { Changes } from "./Changes";
import { marksOf } from "./change-words";
import styles from "./Overview.module.css";
import { TrainingCheck } from "./TrainingCheck";

type Props = {
  job: JobDetail;
  series: SeriesMap;
  view: View;
  onView: (view: View) => void;
  onPick: (step: number) => void;
};

type KlSpec = { algorithm?: { loss?: { kl?: { beta?: number } } } };

const BIG_HEIGHT = 190;
const SMALL_HEIGHT = 120;
/** What a large chart's dialog needs beside the plot. */
const AROUND_LARGE = 220;
/** The dialog's share of the screen. */
const LARGE_SHARE = 0.9;

/** Whether it trains, in words; then the curves: the big three, then small multiples of everything that is measured. */
export function Overview({ job, series, view, onView, onPick }: Props) {
  const catalogue = useQuery(metaQuery).data?.metrics;
  const screen = useViewportSize().height;
  const last = Math.max(job.progress.steps, lastStep(series), 1);
  const visible = useVisibleSeries(job.id, series, view.range);
  const zoom = useZoom(view, onView, last);
  const changes = useQuery(changesQuery(job.id)).data?.data;
  const marks = useMemo(() => marksOf(changes ?? []), [changes]);
  const space = useChartSpaceOf(job, series, view, zoom, marks, onPick);

  const beta = ((job.resolved_spec ?? job.spec) as KlSpec).algorithm?.loss?.kl?.beta ?? 0;
  const measured = [...series.values()].filter((one) => one.values.some((value) => value !== null));
  const keys = measured.map((one) => one.key).join(" ");
  const groups = useMemo(() => chartGroups(keys ? keys.split(" ") : [], catalogue ?? []), [keys, catalogue]);

  const passes = useMemo(() => matcher(view.filter), [view.filter]);
  const filtered = groups.flatMap((group) => {
    const charts = group.charts.filter((def) => passes(searchText(def, group.title)));
    return charts.length > 0 ? [{ ...group, charts }] : [];
  });
  const all = useMemo(() => bigCharts(keys.split(" ")), [keys]);
  const big = all.filter((def) => passes(searchText(def, "")));
  const large =
    view.large && [...all, ...groups.flatMap((group) => group.charts)].find((def) => def.id === view.large);

  const draw = (def: ChartDef, height: number, inDialog = false) => {
    if (def === KL && beta === 0) return <KlCard key={def.id} />;
    const about = def.about ?? def.lines[0]?.key;
    const metric = catalogue?.find((one) => one.key === about);
    return (
      <MetricChart
        key={def.id}
        def={def}
        series={visible}
        range={view.range}
        height={height}
        meaning={metric && `${metric.meaning} ${metric.reading ?? ""}`.trim()}
        log={view.log !== "all" && view.log.includes(def.id)}
        onLog={() => onView(withLog(view, def.id))}
        onMaximise={inDialog ? undefined : () => onView({ ...view, large: def.id })}
      />
    );
  };

  return (
    <>
      <TrainingCheck
        job={job.id}
        step={lastStep(series)}
        stopped={isFinal(job.status) || job.status === "paused"}
        onPick={onPick}
      />
      <Toolbar view={view} onView={onView} onBack={zoom.onBack} onReset={zoom.onReset} />
      <Changes changes={changes ?? []} />
      <ChartSpaceProvider value={space}>
        {big.length > 0 && <div className={styles.big}>{big.map((def) => draw(def, BIG_HEIGHT))}</div>}
        <Family job={job} />
        {filtered.map((group) => (
          <section key={group.title} aria-label={group.title}>
            <h2 className={styles.group}>{group.title}</h2>
            <div className={styles.small}>{group.charts.map((def) => draw(def, SMALL_HEIGHT))}</div>
          </section>
        ))}
        {big.length === 0 && filtered.length === 0 && (
          <p className={styles.none}>No chart has “{view.filter}” in its title, lines or metric keys.</p>
        )}
        <Modal
          opened={large !== undefined && large !== null && large !== ""}
          onClose={() => onView({ ...view, large: null })}
          size="min(1480px, 96vw)"
          title={large ? `${large.title} of ${job.name}` : ""}
        >
          {large && draw(large, Math.max(220, screen * LARGE_SHARE - AROUND_LARGE), true)}
        </Modal>
      </ChartSpaceProvider>
    </>
  );
}
