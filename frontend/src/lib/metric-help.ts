import type { Meta } from "@/api/meta";

export type MetricHelp = { text: string; guide: string };

const METRICS_PAGE = "/guide/job-file";

/** What a metric means and where the guide has it; undefined for a metric that the server does not define. */
export function metricHelp(key: string, meta: Pick<Meta, "metrics" | "metric_families"> | undefined) {
  const metric = meta?.metrics.find((one) => one.key === key);
  if (metric) return help(metric, `#metric-${key.replaceAll("/", "-")}`);
  for (const family of meta?.metric_families ?? []) {
    const groups = new RegExp(`^(?:${family.pattern})$`).exec(key);
    if (!groups) continue;
    const fill = (text: string) =>
      text.replace(/\{(\d)\}/g, (_, at) => (groups[Number(at)] ?? "").replace(/^\d+$/, "k"));
    return help({ meaning: fill(family.meaning), reading: fill(family.reading) }, "#metrics");
  }
  return undefined;
}

const help = ({ meaning, reading }: { meaning: string; reading: string }, anchor: string): MetricHelp => ({
  text: `${meaning} ${reading}`.trim(),
  guide: `${METRICS_PAGE}${anchor}`,
});
