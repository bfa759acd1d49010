import type { ChartColor } from "@/components/chart/model";
import { number, percent, tick } from "@/lib/format";
import type { ChartDef, LineDef } from "./chart-defs";

const COLORS: readonly ChartColor[] = ["c1", "c2", "c3", "c4"];
const style = (at: number) => ({ color: COLORS[at % 4] as ChartColor, dash: at >= 4 });

/** Of k answers to a held-out row. Their intervals are in the API; a curve for each end would say little. */
const AT_K = {
  pass: { title: "Pass@k", unit: "share", format: percent, tick: percent, max: 1 },
  best: { title: "Best@k", unit: "reward", format: number, tick },
  maj: { title: "Majority@k", unit: "share", format: percent, tick: percent, max: 1 },
};
const SLICE_UNITS: Record<string, string> = { pass_share: "share", length_mean: "tokens", kl_mean: "nat" };

const isAtK = (key: string) => /^held_out\/(?:pass|best|maj)@\d+(?:\/(?:low|high))?$/.test(key);
const slicePart = (key: string) => /^(held_out\/)?slice\/(.+)\/([^/]+)$/.exec(key);

/** Metrics that come one per k or one per slice of the data: they are drawn together, not each by itself. */
export const isOfFamily = (key: string): boolean => isAtK(key) || slicePart(key) !== null;

const words = { up: "Up", down: "Down", min: 0 };

function atK(keys: readonly string[]): ChartDef[] {
  return Object.entries(AT_K).flatMap(([kind, look]) => {
    const ks = keys
      .flatMap((key) => new RegExp(`^held_out/${kind}@(\\d+)$`).exec(key)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
    if (ks.length === 0) return [];
    const lines: LineDef[] = ks.map((k, at) => ({
      key: `held_out/${kind}@${k}`,
      label: `k = ${k}`,
      ...style(at),
      sparse: true,
    }));
    return [{ ...words, ...look, id: `${kind}-at-k`, lines }];
  });
}

function slices(keys: readonly string[]): ChartDef[] {
  const charts = new Map<string, ChartDef>();
  for (const key of [...keys].sort()) {
    const match = slicePart(key);
    if (!match) continue;
    const [, held, value = "", name = ""] = match;
    const id = `${held ? "held-out-" : ""}slices-${name.replaceAll("_", "-")}`;
    const title = `${held ? "Held-out s" : "S"}lices: ${name.replaceAll("_", " ")}`;
    const unit = SLICE_UNITS[name] ?? "reward";
    const chart: ChartDef = charts.get(id) ?? {
      ...words,
      min: undefined,
      id,
      title,
      unit,
      format: number,
      lines: [],
    };
    chart.lines.push({ key, label: value, ...style(chart.lines.length), sparse: Boolean(held) });
    charts.set(id, chart);
  }
  return [...charts.values()];
}

export const familyCharts = (keys: readonly string[]): ChartDef[] => [...atK(keys), ...slices(keys)];

/** What a critic foresaw beside what came, and how far off it was; only jobs that have one. */
const CRITIC: ChartDef[] = [
  {
    ...words,
    id: "critic-values",
    title: "Critic value and return",
    unit: "reward per token",
    min: undefined,
    format: number,
    lines: [
      { key: "critic/value_mean", label: "value", color: "c1" },
      { key: "critic/return_mean", label: "return", color: "c2", dash: true },
    ],
  },
  {
    ...words,
    id: "critic-explained",
    title: "Explained variance",
    unit: "1 is right, 0 is no better than the mean",
    min: undefined,
    max: 1,
    format: number,
    tick,
    lines: [{ key: "critic/explained_variance", label: "share", color: "c3" }],
  },
  {
    ...words,
    id: "critic-loss",
    title: "Critic loss",
    unit: "half the squared error",
    format: number,
    lines: [{ key: "critic/loss", label: "loss", color: "c4" }],
  },
];

export const criticCharts = (keys: readonly string[]): ChartDef[] =>
  CRITIC.filter((def) => def.lines.some((line) => keys.includes(line.key)));
