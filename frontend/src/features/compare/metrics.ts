import type { ChartScale, Meta } from "@/api/meta";

/** A chart of one metric, with a line per job or group. */
export type MetricDef = {
  key: string;
  title: string;
  unit: string;
  scale: ChartScale | undefined;
};

export type MetricSection = { title: string; metrics: MetricDef[] };
type Definitions = Pick<Meta, "metrics" | "metric_families" | "charts">;

const isHeldOut = (key: string) => key.startsWith("held_out/");

/** The metrics of a family's chart: where it belongs, and what its key fills in. */
function ofFamily(key: string, meta: Definitions): { section: string; def: MetricDef } | undefined {
  for (const { pattern, chart: id, title, unit } of meta.metric_families) {
    const parts = new RegExp(`^(?:${pattern})$`).exec(key);
    if (!parts) continue;
    const fill = (text: string) => text.replace(/\{(\d)\}/g, (_, at) => parts[Number(at)] ?? "");
    const chart = meta.charts.find((one) => one.id === id);
    return {
      section: chart?.section ?? "Other",
      def: { key, title: fill(title), unit, scale: chart?.scale },
    };
  }
  return undefined;
}

/** Measured metrics under the sections of a job's charts, in their order; unknown ones last. */
export function metricSections(keys: readonly string[], meta: Definitions): MetricSection[] {
  const rest = new Set(keys);
  const sections = new Map<string, MetricDef[]>(meta.charts.map(({ section }) => [section, []]));
  const add = (section: string, def: MetricDef) => {
    const defs = sections.get(section);
    if (defs) defs.push(def);
    else sections.set(section, [def]);
  };
  for (const { section, lines, scale } of meta.charts)
    for (const { key, label } of lines) {
      if (!rest.delete(key)) continue;
      const metric = meta.metrics.find((one) => one.key === key);
      add(section, { key, title: metric?.title ?? label, unit: metric?.unit ?? "", scale });
    }
  for (const key of [...rest].sort()) {
    const metric = meta.metrics.find((one) => one.key === key);
    const family = ofFamily(key, meta);
    if (metric) add("Other", { key, title: metric.title, unit: metric.unit, scale: undefined });
    else if (family) add(family.section, family.def);
    else
      add(isHeldOut(key) ? "Held-out rows" : "Other", { key, title: key, unit: "value", scale: undefined });
  }
  return [...sections].flatMap(([title, metrics]) => (metrics.length > 0 ? [{ title, metrics }] : []));
}

export const slug = (title: string) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
