import { Modal } from "@mantine/core";
import { useViewportSize } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { changesQuery } from "@/api/job-changes";
import { findingsQuery, isFinal, type JobDetail, metricsQuery } from "@/api/jobs";
import { metaQuery } from "@/api/meta";
import { ChartSpaceProvider } from "@/components/chart/space";
import { Failure } from "@/components/Failure";
import { SkeletonCard } from "@/components/Skeleton";
import { metricHelp } from "@/lib/metric-help";
import { type ChartDef, type ChartGroup, chartGroups, HEADLINE, searchText } from "../curves/charts";
import { KlCard } from "../curves/KlCard";
import { MetricChart } from "../curves/MetricChart";
import { arranged } from "../curves/quiet";
import { Toolbar } from "../curves/Toolbar";
import { useChartSpaceOf, useVisibleSeries, useZoom } from "../curves/use-curves";
import { usePins } from "../curves/use-pins";
import { usePlaces, useQuiet } from "../curves/use-quiet";
import { lastOnAxis, matcher, type View, withLog } from "../curves/view-state";
import { Family } from "../forks/Family";
import { lastStep, type SeriesMap } from "../series";
import { Changes } from "./Changes";
import { marksOf } from "./change-words";
import { marksByMetric, marksOn } from "./finding-marks";
import styles from "./Overview.module.css";
import { QuietCharts } from "./QuietCharts";
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
/** Until the data say which charts there are. */
const UNKNOWN_HEIGHT = 640;
/** Pixels of a large chart's dialog around the plot. */
const AROUND_LARGE = 220;
const NO_QUIET: ReadonlySet<string> = new Set();
/** The dialog's share of the screen. */
const LARGE_SHARE = 0.9;

function ChartSection({ group, draw }: { group: ChartGroup; draw: (def: ChartDef) => ReactNode }) {
  return (
    <section aria-label={group.title}>
      <h2 className={styles.group}>{group.title}</h2>
      <div className={styles.small}>{group.charts.map(draw)}</div>
    </section>
  );
}

/** Training check, then the headline charts, forks, and small charts of everything that is measured. */
export function Overview({ job, series, view, onView, onPick }: Props) {
  const meta = useQuery(metaQuery);
  const screen = useViewportSize().height;
  const step = lastStep(series);
  const last = lastOnAxis(view, step, job.progress.steps);
  const visible = useVisibleSeries(job.id, series, view.range);
  const zoom = useZoom(view, onView, last);
  const changes = useQuery(changesQuery(job.id)).data?.data;
  const marks = useMemo(() => marksOf(changes ?? []), [changes]);
  const findings = useQuery(findingsQuery(job.id)).data?.data;
  const problems = useMemo(() => marksByMetric(findings ?? []), [findings]);
  const space = useChartSpaceOf(job, series, view, zoom, marks, onPick);

  const beta = ((job.resolved_spec ?? job.spec) as KlSpec).algorithm?.loss?.kl?.beta ?? 0;
  const measured = [...series.values()].filter((one) => one.values.some((value) => value !== null));
  const keys = measured.map((one) => one.key).join("\n");
  const defined = useMemo(
    () => (meta.data ? chartGroups(keys ? keys.split("\n") : [], meta.data) : []),
    [keys, meta.data],
  );
  const [pins, togglePin] = usePins();
  const ready = useQuery(metricsQuery(job.id)).data !== undefined && meta.data !== undefined;
  const groups = usePlaces(defined, series, { step, ready });
  const quiet = useQuiet(groups, series, step, { ready, ended: isFinal(job.status) });
  const charts = groups.flatMap((group) => group.charts);

  const passes = useMemo(() => matcher(view.filter), [view.filter]);
  const filtered = groups.flatMap((group) => {
    const matching = group.charts.filter((def) => passes(searchText(def)));
    return matching.length > 0 ? [{ ...group, charts: matching }] : [];
  });
  const arrangement = arranged(filtered, pins, view.filter ? NO_QUIET : (quiet ?? NO_QUIET));
  const headline = arrangement.groups.find(({ title }) => title === HEADLINE);
  const large = view.large && charts.find((def) => def.id === view.large);

  const draw = (def: ChartDef, height: number, inDialog = false) => {
    if (def.id === "kl" && beta === 0) return <KlCard key={def.id} title={def.title} />;
    return (
      <MetricChart
        key={def.id}
        def={def}
        series={visible}
        range={view.range}
        height={height}
        findings={marksOn(
          def.lines.map(({ key }) => key),
          problems,
        )}
        help={metricHelp(def.about || (def.lines[0]?.key ?? ""), meta.data)}
        log={view.log !== "all" && view.log.includes(def.id)}
        onLog={() => onView(withLog(view, def.id))}
        onMaximise={inDialog ? undefined : () => onView({ ...view, large: def.id })}
        pin={
          inDialog || def.section === HEADLINE
            ? undefined
            : { isPinned: pins.includes(def.id), onToggle: () => togglePin(def.id) }
        }
      />
    );
  };

  const drawSmall = (def: ChartDef) => draw(def, SMALL_HEIGHT);
  const pinned = arrangement.pinned.length > 0 ? [{ title: "Pinned", charts: arrangement.pinned }] : [];
  const sections = [...pinned, ...arrangement.groups.filter((group) => group !== headline)];

  return (
    <>
      <TrainingCheck
        job={job.id}
        step={step}
        stopped={isFinal(job.status) || job.status === "paused"}
        onPick={onPick}
      />
      <Toolbar
        unfinished={!isFinal(job.status) || step < job.progress.steps}
        view={view}
        onView={onView}
        onBack={zoom.onBack}
        onReset={zoom.onReset}
      />
      <Changes changes={changes ?? []} />
      <ChartSpaceProvider value={space}>
        {meta.isError && (
          <Failure title="Could not load charts" error={meta.error} retry={() => void meta.refetch()} />
        )}
        {meta.isPending && <SkeletonCard height={BIG_HEIGHT} label="Loading charts" />}
        {headline && <div className={styles.big}>{headline.charts.map((def) => draw(def, BIG_HEIGHT))}</div>}
        <Family job={job} />
        {!quiet && <SkeletonCard height={UNKNOWN_HEIGHT} label="Loading charts" />}
        {quiet && sections.map((group) => <ChartSection key={group.title} group={group} draw={drawSmall} />)}
        <QuietCharts
          charts={arrangement.quiet}
          series={series}
          open={view.quiet}
          onOpen={(open) => onView({ ...view, quiet: open })}
          draw={drawSmall}
        />
        {meta.data && filtered.length === 0 && (
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
