import type { ChartScale, Meta, MetricChart, MetricFamily } from "@/api/meta";
import { FORMATS, LINE_STYLES, type LineStyle, OWN_WORDS, styleAt, WORDS, type Words } from "./chart-style";

export type LineDef = LineStyle & { key: string; label: string; sparse: boolean };

/** A chart of one job: its definition with the job's lines and their style. */
export type ChartDef = Words & {
  id: string;
  section: string;
  title: string;
  unit: string;
  lines: LineDef[];
  band?: LineStyle & { label: string; low: string; high: string };
  min: number | undefined;
  max: number | undefined;
  format: (value: number) => string;
  tick?: (value: number) => string;
  calm?: { below: number; text: string };
  /** Key of the metric whose meaning explains the chart. */
  about: string;
};

export type ChartGroup = { title: string; charts: ChartDef[] };

export type Definitions = Pick<Meta, "metrics" | "metric_families" | "charts">;

type Line = { key: string; label: string };
/** A measured metric of a family, with what its key fills in. */
type Member = Line & { template: string; fill: (text: string) => string };

export const HEADLINE = "Headline";

const slug = (text: string) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
/** Measured by evaluations, between which steps have no value. */
const isHeldOut = (key: string) => key.startsWith("held_out/");

function memberOf(key: string, families: readonly MetricFamily[]): Member | undefined {
  for (const { pattern, chart, label } of families) {
    const groups = new RegExp(`^(?:${pattern})$`).exec(key);
    if (groups) {
      const fill = (text: string) => text.replace(/\{(\d)\}/g, (_, at) => groups[Number(at)] ?? "");
      return { key, label: fill(label), template: chart, fill };
    }
  }
  return undefined;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return [...groups];
}

const byLabel = (a: Line, b: Line) => a.label.localeCompare(b.label, "en", { numeric: true });

type Instance = { chart: MetricChart; lines: readonly Line[] };

/** The charts that a definition makes of the measured metrics: none, one, or of a template one per id. */
function instances(
  chart: MetricChart,
  members: readonly Member[],
  measured: ReadonlySet<string>,
): Instance[] {
  const own = members.filter((member) => member.template === chart.id);
  if (chart.about) {
    const visible = chart.always || chart.lines.some(({ key }) => measured.has(key));
    const lines = chart.lines.filter(({ key, always }) => always || measured.has(key));
    return visible ? [{ chart, lines }] : [];
  }
  return grouped(own, ({ fill }) => slug(fill(chart.id)))
    .filter(([, lines]) => lines.length >= chart.minimum_lines)
    .map(([id, lines]) => {
      const title = lines[0]?.fill(chart.title) ?? chart.title;
      return { chart: { ...chart, id, title }, lines: lines.sort(byLabel) };
    });
}

const STRANGER_SCALE: ChartScale = { format: "number", start: null, end: null };

/** The chart of a metric that the server does not know, as of a plug-in. */
const stranger = (key: string): Instance => ({
  chart: {
    id: slug(key),
    section: isHeldOut(key) ? "Held-out rows" : "Other",
    title: key,
    unit: "value",
    about: key,
    lines: [],
    band: null,
    scale: STRANGER_SCALE,
    negligible: null,
    always: false,
    minimum_lines: 1,
  },
  lines: [{ key, label: isHeldOut(key) ? "held-out" : "per step" }],
});

/** `place` is that of the chart in its section, which decides the colour of a single line without a style. */
function styled({ chart, lines }: Instance, place: number): ChartDef {
  const { id, section, title, unit, about, band, scale, negligible } = chart;
  return {
    ...(OWN_WORDS[id] ?? WORDS),
    ...FORMATS[scale.format],
    id,
    section,
    title,
    unit,
    about,
    min: scale.start ?? undefined,
    max: scale.end ?? undefined,
    lines: lines.map(({ key, label }, at) => ({
      key,
      label,
      sparse: isHeldOut(key),
      ...(LINE_STYLES[key] ?? styleAt(lines.length > 1 ? at : place)),
    })),
    ...(band && { band: { ...band, color: "c1" } }),
    ...(negligible && { calm: { below: negligible.below, text: negligible.sentence } }),
  };
}

/**
 * The charts of a job under their sections: the headline, fixed charts in places that do not depend on what was
 * measured yet, then every other metric that was.
 */
export function chartGroups(keys: readonly string[], meta: Definitions): ChartGroup[] {
  const measured = new Set(keys);
  const defined = new Set(meta.metrics.map(({ key }) => key));
  const members: Member[] = [];
  const strangers: string[] = [];
  for (const key of measured) {
    const member = defined.has(key) ? undefined : memberOf(key, meta.metric_families);
    if (member) members.push(member);
    else if (!defined.has(key)) strangers.push(key);
  }
  const drawn = [
    ...meta.charts.flatMap((chart) => instances(chart, members, measured)),
    ...strangers.sort().map(stranger),
  ];
  return grouped(drawn, ({ chart }) => chart.section).map(([title, charts]) => ({
    title,
    charts: charts.map(styled),
  }));
}

/** What the filter looks at: title, unit, names of lines, keys. */
export const searchText = (def: ChartDef) =>
  [
    def.title,
    def.unit,
    def.section === HEADLINE ? "" : def.section,
    ...def.lines.flatMap((line) => [line.label, line.key]),
  ].join(" ");
