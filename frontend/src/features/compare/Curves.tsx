import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { curvesQuery, type JobComparison } from "@/api/compare";
import { type Meta, metaQuery } from "@/api/meta";
import { STEPS } from "@/components/chart/axis";
import { type ChartSpace, ChartSpaceProvider } from "@/components/chart/space";
import type { Range } from "@/components/chart/zoom";
import { Failure } from "@/components/Failure";
import { CurveLegend } from "./CurveLegend";
import styles from "./Curves.module.css";
import { type Entry, entriesOf, firstHighlighted, MOST_BANDS } from "./lines";
import { MetricOverlay } from "./MetricOverlay";
import { type MetricDef, type MetricSection, metricSections, slug } from "./metrics";
import type { ComparePlace, Go } from "./place";

const HELD_OUT = "held_out/reward_mean";
const BIG = { height: 260, buckets: 300 };
const SMALL = { height: 120, buckets: 100 };
const HEADLINE = "Headline";

type Source = { jobs: readonly string[]; group: string | undefined; live: boolean };
type Drawn = { entries: readonly Entry[]; highlighted: readonly string[]; meta: Meta };

function Section({
  section,
  source,
  drawn,
  open,
  onOpen,
  onEnlarge,
}: {
  section: MetricSection;
  source: Source;
  drawn: Drawn;
  open: boolean;
  onOpen: () => void;
  onEnlarge: (key: string) => void;
}) {
  const keys = open ? section.metrics.map(({ key }) => key) : [];
  const { data, error, refetch } = useQuery(curvesQuery({ ...source, keys, buckets: SMALL.buckets }));
  return (
    <section aria-label={section.title}>
      <h3 className={styles.fold}>
        <button type="button" aria-expanded={open} onClick={onOpen}>
          {section.title}
          <small>{section.metrics.length}</small>
        </button>
      </h3>
      {open && error && !data && (
        <Failure title="Could not load the curves" error={error} retry={() => void refetch()} />
      )}
      {open && (
        <div className={styles.charts}>
          {section.metrics.map((def) => (
            <MetricOverlay
              key={def.key}
              def={def}
              curves={data?.find(({ key }) => key === def.key)}
              {...drawn}
              height={SMALL.height}
              legend={false}
              onEnlarge={() => onEnlarge(def.key)}
            />
          ))}
        </div>
      )}
    </section>
  );
}

type Props = { comparison: JobComparison; place: ComparePlace; onPlace: Go };

/** One metric large, then every chart of the jobs in sections that open on request. */
export function Curves({ comparison, place, onPlace }: Props) {
  const meta = useQuery(metaQuery).data;
  const { jobs, metrics: keys = [] } = comparison;
  const group = comparison.group ?? undefined;
  const entries = useMemo(() => entriesOf(comparison), [comparison]);
  const names = entries.map(({ id }) => id).join("\n");
  const [choice, setChoice] = useState<{ names: string; ids: string[] }>();
  const highlighted = useMemo(
    () => (choice?.names === names ? choice.ids : firstHighlighted(entries)),
    [choice, names, entries],
  );
  const sections = useMemo(() => (meta ? metricSections(keys, meta) : []), [keys, meta]);
  const defs = sections.flatMap(({ metrics }) => metrics);
  const def: MetricDef | undefined =
    defs.find(({ key }) => key === (place.metric ?? HELD_OUT)) ?? defs.find(() => !place.metric);
  const source: Source = {
    jobs: jobs.map(({ id }) => id),
    group,
    live: jobs.some(({ status }) => status === "running"),
  };
  const large = useQuery(curvesQuery({ ...source, keys: def ? [def.key] : [], buckets: BIG.buckets }));
  const [range, setRange] = useState<Range | null>(null);
  const last = Math.max(1, ...jobs.map(({ step }) => step));
  const space = useMemo<ChartSpace>(
    () => ({
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
    }),
    [last, range],
  );
  const top = useRef<HTMLDivElement>(null);
  const open = new Set((place.sections ?? slug(HEADLINE)).split(","));
  const toggle = (name: string) => {
    if (!open.delete(name)) open.add(name);
    onPlace({ sections: [...open].filter(Boolean).join(",") || "none" });
  };
  if (!meta || keys.length === 0)
    return <p className={styles.none}>{meta ? "No job has measured anything yet." : "Loading…"}</p>;
  const drawn = { entries, highlighted, meta };
  return (
    <ChartSpaceProvider value={space}>
      <div className={styles.top} ref={top}>
        <NativeSelect
          className={styles.metric}
          label="Metric"
          value={def?.key ?? ""}
          data={sections.map(({ title, metrics }) => ({
            group: title,
            items: metrics.map(({ key, title }) => ({ value: key, label: title })),
          }))}
          onChange={(event) => onPlace({ metric: event.currentTarget.value })}
        />
        <CurveLegend
          entries={entries}
          highlighted={highlighted}
          onHighlighted={(ids) => setChoice({ names, ids })}
        />
      </div>
      {large.error && !large.data && (
        <Failure title="Could not load the curves" error={large.error} retry={() => void large.refetch()} />
      )}
      {def && (
        <MetricOverlay
          def={def}
          curves={large.data?.find(({ key }) => key === def.key)}
          {...drawn}
          height={BIG.height}
          legend
        />
      )}
      {group && (
        <p className={styles.note}>
          Lines are means over the jobs of a group.{" "}
          {highlighted.length <= MOST_BANDS
            ? "Bands go from their minimum to their maximum."
            : `Highlight at most ${MOST_BANDS} groups to see bands from minimum to maximum.`}
        </p>
      )}
      {sections.map((section) => (
        <Section
          key={section.title}
          section={section}
          source={source}
          drawn={drawn}
          open={open.has(slug(section.title))}
          onOpen={() => toggle(slug(section.title))}
          onEnlarge={(metric) => {
            onPlace({ metric });
            top.current?.scrollIntoView({ block: "start" });
          }}
        />
      ))}
    </ChartSpaceProvider>
  );
}
