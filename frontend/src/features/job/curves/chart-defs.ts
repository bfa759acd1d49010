import type { Metric } from "@/api/platform";
import type { ChartColor } from "@/components/chart/model";
import { number, percent, reward, tick } from "@/lib/format";
import { criticCharts, familyCharts, isOfFamily } from "./chart-families";

export type LineDef = { key: string; label: string; color: ChartColor; dash?: boolean; sparse?: boolean };

export type ChartDef = {
  /** Stands in the address. */
  id: string;
  title: string;
  unit: string;
  lines: LineDef[];
  band?: { label: string; color: ChartColor; low: string; high: string };
  min?: number | undefined;
  max?: number;
  format: (value: number) => string;
  tick?: (value: number) => string;
  /** Words of the sentence: "Up from 0.45 to 0.95". */
  up: string;
  down: string;
  relative?: boolean;
  /** The sentence while all values are this close to 0. */
  calm?: { below: number; text: string };
  /** Metric key whose meaning the title explains; the first line's by default. */
  about?: string;
  /** Added to the sentence. */
  note?: string;
};

export type ChartGroup = { title: string; charts: ChartDef[] };

const plain = { format: number, up: "Up", down: "Down", min: 0 };
const share = { ...plain, unit: "share", format: percent, tick: percent, max: 1 };
/** Shares that are small when all is well: the axis ends at a tenth until one is larger. */
const rare = { ...share, max: 0.1 };

/** Reward, entropy and length: the three that say whether it works. */
export const BIG: ChartDef[] = [
  {
    ...plain,
    id: "reward",
    title: "Reward",
    unit: "per step",
    max: 1,
    format: reward,
    tick,
    band: { label: "p10–p90", color: "c1", low: "reward/p10", high: "reward/p90" },
    lines: [
      { key: "reward/mean", label: "train mean", color: "c1" },
      { key: "held_out/reward_mean", label: "held-out", color: "c2", sparse: true },
    ],
  },
  {
    ...plain,
    id: "entropy",
    title: "Entropy",
    unit: "nat per token",
    lines: [{ key: "entropy/mean", label: "mean", color: "c3" }],
    up: "Rose",
    down: "Fell",
    relative: true,
  },
  {
    ...plain,
    id: "length",
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

/** Only of jobs whose algorithm changes the reward. */
const SHAPED: LineDef = {
  key: "reward/shaped_mean",
  label: "with shaping",
  color: "c4",
  dash: true,
};

/** The big three. Beside your reward stands the shaped one, where there is one. */
export const bigCharts = (keys: readonly string[]): ChartDef[] =>
  BIG.map((def) =>
    def.id === "reward" && keys.includes(SHAPED.key) ? { ...def, lines: [...def.lines, SHAPED] } : def,
  );

const one = (key: string, label: string, color: ChartColor = "c1"): LineDef[] => [{ key, label, color }];

export const KL: ChartDef = {
  ...plain,
  id: "kl",
  title: "KL to base",
  unit: "nat per token",
  lines: one("kl/mean", "mean"),
};

const SIGNAL: ChartDef[] = [
  {
    ...share,
    id: "dead-groups",
    title: "Groups without signal",
    about: "groups/zero_variance_share",
    lines: [
      { key: "groups/all_right_share", label: "equal, above 0", color: "c3" },
      { key: "groups/all_wrong_share", label: "equal, 0 or below", color: "c2", dash: true },
    ],
  },
  {
    ...rare,
    id: "truncated",
    title: "Truncated",
    lines: one("completions/truncated_share", "share", "c2"),
  },
  { ...rare, id: "reward-errors", title: "Reward errors", lines: one("reward/error_share", "share", "c2") },
  {
    ...plain,
    id: "reward-spread",
    title: "Reward spread",
    unit: "deviation",
    lines: one("reward/std", "std"),
  },
];

const POLICY: ChartDef[] = [
  KL,
  {
    ...rare,
    id: "clipped",
    title: "Clipped tokens",
    about: "policy/clip_high_share",
    lines: [
      { key: "policy/clip_high_share", label: "high", color: "c1" },
      { key: "policy/clip_low_share", label: "low", color: "c2", dash: true },
    ],
  },
  {
    ...plain,
    id: "gap",
    title: "Trainer–sampler gap",
    unit: "nat",
    lines: [
      { key: "sampler/gap_mean", label: "mean", color: "c1" },
      { key: "sampler/gap_max", label: "largest", color: "c4", dash: true },
    ],
    calm: { below: 1e-3, text: "Negligible: the mean is below 0.001." },
  },
  {
    ...plain,
    id: "ratio",
    title: "Policy ratio",
    unit: "ratio",
    min: undefined,
    lines: one("policy/ratio_mean", "mean"),
  },
];

const SPEED: ChartDef[] = [
  {
    ...plain,
    id: "throughput",
    title: "Throughput",
    unit: "completions/s",
    lines: one("throughput/completions_per_second", "trained", "c3"),
  },
  {
    ...plain,
    id: "token-throughput",
    title: "Token throughput",
    unit: "tokens/s",
    lines: one("throughput/tokens_per_second", "completion tokens", "c3"),
  },
  {
    ...plain,
    id: "step-time",
    title: "Step time",
    unit: "s",
    about: "time/step",
    lines: [
      { key: "time/step", label: "all", color: "c1" },
      { key: "time/generate", label: "generate", color: "c2", dash: true },
      { key: "time/score", label: "score", color: "c4", dash: true },
      { key: "time/update", label: "update", color: "c3", dash: true },
    ],
  },
  {
    ...plain,
    id: "memory",
    title: "Memory",
    unit: "GiB, peak",
    lines: [
      { key: "memory/peak", label: "peak", color: "c4" },
      { key: "memory/state", label: "weights and optimizer", color: "c1", dash: true },
    ],
  },
];

const OPTIMIZER: ChartDef[] = [
  {
    ...plain,
    id: "loss",
    title: "Policy loss",
    unit: "near 0 is normal",
    min: undefined,
    lines: one("loss/policy", "loss", "c4"),
    calm: { below: 1e-3, text: "Within 0.001 of 0, as expected." },
  },
  {
    ...plain,
    id: "gradient-norm",
    title: "Gradient norm",
    unit: "before clipping",
    lines: one("optimizer/grad_norm", "norm", "c4"),
  },
  {
    ...plain,
    id: "learning-rate",
    title: "Learning rate",
    unit: "per update",
    lines: one("optimizer/learning_rate", "rate"),
  },
  {
    ...plain,
    id: "skipped",
    title: "Skipped updates",
    unit: "since the start",
    lines: one("optimizer/skipped_updates", "skipped", "c2"),
  },
];

/** Counts that only go up with the steps: they are axes, not curves. */
const COUNTERS = ["optimizer/updates", "tokens/trained"];
const COLORS: ChartColor[] = ["c1", "c3", "c4", "c2"];

const slug = (text: string) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
const style = (at: number) => ({
  color: COLORS[at % COLORS.length] as ChartColor,
  dash: at >= COLORS.length,
});

const SPLITS = {
  reward: { pattern: /^reward\/(.+?)\/(?:mean|part\/(.+))$/, id: "", title: "", sparse: false },
  heldOut: {
    pattern: /^held_out\/(.+?)\/(?:mean|part\/(.+))$/,
    id: "held-out-",
    title: "Held-out: ",
    sparse: true,
  },
};

/** The rewards of a job with several, in one chart, and the parts of each that has parts. */
function rewardCharts(keys: readonly string[], split: (typeof SPLITS)[keyof typeof SPLITS]): ChartDef[] {
  const { sparse } = split;
  const entries = keys.flatMap((key) => {
    const [, name, part] = split.pattern.exec(key) ?? [];
    return name ? [{ key, name, part }] : [];
  });
  const lines = (of: typeof entries, label: (one: (typeof entries)[number]) => string): LineDef[] =>
    of.map((one, at) => ({ key: one.key, label: label(one), ...style(at), ...(sparse && { sparse }) }));
  const title = (text: string) =>
    sparse ? split.title + text.charAt(0).toLowerCase() + text.slice(1) : text;
  const means = entries.filter((one) => one.part === undefined);
  const charts: ChartDef[] = [];
  // With a single reward its own mean is the mean that is already shown.
  if (means.length > 1) {
    const all = lines(means, (one) => one.name);
    const id = `${split.id}rewards`;
    charts.push({ ...plain, id, title: title("Rewards"), unit: "mean", min: undefined, lines: all });
  }
  for (const name of new Set(entries.flatMap((one) => (one.part === undefined ? [] : [one.name])))) {
    const parts = entries.filter((one) => one.name === name && one.part !== undefined);
    if (parts.length === 0) continue;
    const id = `${split.id}parts-${slug(name)}`;
    const called = title(means.length > 1 ? `Parts of “${name}”` : "Parts of the reward");
    const drawn = lines(parts, (one) => one.part ?? "");
    charts.push({ ...plain, id, title: called, unit: "mean", min: undefined, lines: drawn });
  }
  return charts;
}

/** A metric that no chart was made for. */
function generic(key: string, at: number, catalogue: readonly Metric[]): ChartDef {
  const metric = catalogue.find((entry) => entry.key === key);
  const base = metric?.unit === "share" ? rare : { ...plain, min: undefined, unit: metric?.unit ?? "value" };
  const sparse = key.startsWith("held_out/");
  const label = sparse ? "held-out" : "per step";
  return {
    ...base,
    id: slug(key),
    title: metric?.title ?? key,
    lines: [{ key, label, ...style(at), sparse }],
  };
}

/**
 * The small multiples under their headings: the fixed ones, in places that do not depend on what was measured yet,
 * then every other metric that was.
 */
export function chartGroups(keys: readonly string[], catalogue: readonly Metric[]): ChartGroup[] {
  const rewards = rewardCharts(keys, SPLITS.reward);
  const heldOutRewards = rewardCharts(keys, SPLITS.heldOut);
  const fixed = [
    { title: "Signal", charts: [...SIGNAL, ...rewards] },
    { title: "Policy", charts: POLICY },
    { title: "Critic", charts: criticCharts(keys) },
    { title: "Speed and memory", charts: SPEED },
    { title: "Optimizer", charts: OPTIMIZER },
  ];
  const charted = new Set<string>(COUNTERS);
  for (const def of [...bigCharts(keys), ...fixed.flatMap((group) => group.charts), ...heldOutRewards]) {
    for (const line of def.lines) charted.add(line.key);
    if (def.band) charted.add(def.band.low).add(def.band.high);
    if (def.about) charted.add(def.about);
  }
  // With a single reward its own mean is the mean that is already shown.
  for (const split of ["reward", "held_out"]) {
    const single = keys.filter((key) => key.startsWith(`${split}/`) && /\/.+\/mean$/.test(key));
    if (single.length === 1) charted.add(single[0] as string);
  }
  const rest = [...new Set(keys)].filter((key) => !charted.has(key) && !isOfFamily(key)).sort();
  const held = rest.filter((key) => key.startsWith("held_out/"));
  const other = rest.filter((key) => !key.startsWith("held_out/"));
  const groups = [
    ...fixed,
    {
      title: "Held-out rows",
      charts: [
        ...heldOutRewards,
        ...familyCharts(keys),
        ...held.map((key, at) => generic(key, at, catalogue)),
      ],
    },
    { title: "Other", charts: other.map((key, at) => generic(key, at, catalogue)) },
  ];
  return groups.filter((group) => group.charts.length > 0);
}

/** What the filter looks at: title, unit, names of lines, keys. */
export const searchText = (def: ChartDef, group: string) =>
  [def.title, def.unit, group, ...def.lines.flatMap((line) => [line.label, line.key])].join(" ");
