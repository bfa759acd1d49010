import type { Metric } from "@/api/platform";
import type { ChartColor } from "@/components/chart/model";
import { number, percent, reward } from "@/lib/format";

type LineDef = { key: string; label: string; color: ChartColor; dash?: boolean; sparse?: boolean };

export type ChartDef = {
  title: string;
  unit: string;
  lines: LineDef[];
  band?: { label: string; color: ChartColor; low: string; high: string };
  min?: number;
  max?: number;
  format: (value: number) => string;
  tick?: (value: number) => string;
  /** Words of the sentence: "Up from 0.45 to 0.95". */
  up: string;
  down: string;
  relative?: boolean;
  /** Metric key whose meaning the title explains; the first line's by default. */
  about?: string;
};

const plain = { format: number, up: "Up", down: "Down", min: 0 };
const share = { ...plain, unit: "share", format: percent, tick: percent, max: 1 };
/** Shares that are small when all is well: the axis ends at a tenth until one is larger. */
const rare = { ...share, max: 0.1 };

/** Reward, entropy and length: the three that say whether it works. */
export const BIG: ChartDef[] = [
  {
    ...plain,
    title: "Reward",
    unit: "per step",
    max: 1,
    format: reward,
    band: { label: "p10–p90", color: "c1", low: "reward/p10", high: "reward/p90" },
    lines: [
      { key: "reward/mean", label: "train mean", color: "c1" },
      { key: "held_out/reward_mean", label: "held-out", color: "c2", sparse: true },
    ],
  },
  {
    ...plain,
    title: "Entropy",
    unit: "nat per token",
    lines: [{ key: "entropy/mean", label: "mean", color: "c3" }],
    up: "Rose",
    down: "Fell",
    relative: true,
  },
  {
    ...plain,
    title: "Completion length",
    unit: "tokens",
    lines: [
      { key: "completions/length_mean", label: "mean", color: "c4" },
      { key: "completions/length_p90", label: "p90", color: "c4", dash: true },
    ],
    up: "Grew",
    down: "Shrank",
  },
];

const KL: ChartDef = {
  ...plain,
  title: "KL to base",
  unit: "nat",
  lines: [{ key: "kl/mean", label: "mean", color: "c1" }],
};

const SMALL: ChartDef[] = [
  {
    ...share,
    title: "Groups without signal",
    about: "groups/zero_variance_share",
    lines: [
      { key: "groups/all_right_share", label: "all right", color: "c3" },
      { key: "groups/all_wrong_share", label: "all wrong", color: "c2", dash: true },
    ],
  },
  {
    ...plain,
    title: "Trainer–sampler gap",
    unit: "nat",
    lines: [
      { key: "sampler/gap_mean", label: "mean", color: "c1" },
      { key: "sampler/gap_max", label: "largest", color: "c4", dash: true },
    ],
  },
  {
    ...plain,
    title: "Step time",
    unit: "s",
    about: "time/step",
    lines: [
      { key: "time/step", label: "all", color: "c1" },
      { key: "time/generate", label: "generate", color: "c2", dash: true },
      { key: "time/update", label: "update", color: "c3", dash: true },
    ],
  },
  {
    ...plain,
    title: "Throughput",
    unit: "completions per s",
    lines: [{ key: "throughput/completions_per_second", label: "trained", color: "c3" }],
  },
  {
    ...rare,
    title: "Truncated",
    lines: [{ key: "completions/truncated_share", label: "share", color: "c2" }],
  },
  { ...rare, title: "Reward errors", lines: [{ key: "reward/error_share", label: "share", color: "c2" }] },
  {
    ...rare,
    title: "Clipped tokens",
    about: "policy/clip_high_share",
    lines: [
      { key: "policy/clip_high_share", label: "high", color: "c1" },
      { key: "policy/clip_low_share", label: "low", color: "c2", dash: true },
    ],
  },
  {
    ...plain,
    title: "Gradient norm",
    unit: "before clipping",
    lines: [{ key: "optimizer/grad_norm", label: "norm", color: "c4" }],
  },
];

/** `reward/format/mean` → `Reward “format”`; parts and strangers keep their key. */
function nameOf(key: string): string {
  const [room, name, last] = key.split("/");
  return room === "reward" && last === "mean" ? `Reward “${name}”` : key;
}

const COLORS: ChartColor[] = ["c1", "c3", "c4", "c2"];

function generic(key: string, at: number, catalogue: readonly Metric[]): ChartDef {
  const metric = catalogue.find((one) => one.key === key);
  const base = metric?.unit === "share" ? rare : { ...plain, min: undefined, unit: metric?.unit ?? "" };
  const color = COLORS[at % COLORS.length] as ChartColor;
  const sparse = key.startsWith("held_out/");
  return {
    ...base,
    title: metric?.title ?? nameOf(key),
    lines: [{ key, label: sparse ? "held-out" : "per step", color, sparse }],
  };
}

/** Small multiples: the fixed ones, KL when the job pays for it, then every other metric that was measured. */
export function smallCharts(
  keys: readonly string[],
  hasKl: boolean,
  catalogue: readonly Metric[],
): { fixed: ChartDef[]; rest: ChartDef[] } {
  const fixed = hasKl ? [SMALL[0] as ChartDef, KL, ...SMALL.slice(1)] : SMALL;
  const shown = new Set([...BIG, ...fixed].flatMap((def) => def.lines.map((line) => line.key)));
  for (const key of ["reward/p10", "reward/p90", "groups/zero_variance_share", "kl/mean"]) shown.add(key);
  const parts = keys.filter((key) => /^reward\/.+\/mean$/.test(key));
  // With a single reward its own mean is the mean that is already shown.
  if (parts.length === 1) shown.add(parts[0] as string);
  const rest = [...new Set(keys)].filter((key) => !shown.has(key)).sort();
  return { fixed, rest: rest.map((key, at) => generic(key, at, catalogue)) };
}
