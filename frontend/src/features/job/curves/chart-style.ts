import type { ChartScale } from "@/api/meta";
import type { ChartColor } from "@/components/chart/model";
import { number, percent, reward, tick } from "@/lib/format";

export type LineStyle = { color: ChartColor; dash?: boolean };

/** Styles of lines by metric key; other lines take theirs from `styleAt`. */
export const LINE_STYLES: Record<string, LineStyle> = {
  "reward/mean": { color: "c1" },
  "held_out/reward_mean": { color: "c2" },
  "reward/shaped_mean": { color: "c4", dash: true },
  "entropy/mean": { color: "c3" },
  "completions/length_mean": { color: "c4" },
  "completions/length_p90": { color: "c4", dash: true },
  "groups/all_right_share": { color: "c3" },
  "groups/all_wrong_share": { color: "c2", dash: true },
  "completions/truncated_share": { color: "c2" },
  "reward/error_share": { color: "c2" },
  "reward/std": { color: "c1" },
  "kl/mean": { color: "c1" },
  "policy/clip_high_share": { color: "c1" },
  "policy/clip_low_share": { color: "c2", dash: true },
  "sampler/gap_mean": { color: "c1" },
  "sampler/gap_max": { color: "c4", dash: true },
  "policy/ratio_mean": { color: "c1" },
  "critic/value_mean": { color: "c1" },
  "critic/return_mean": { color: "c2", dash: true },
  "critic/explained_variance": { color: "c3" },
  "critic/loss": { color: "c4" },
  "throughput/completions_per_second": { color: "c3" },
  "throughput/tokens_per_second": { color: "c3" },
  "time/step": { color: "c1" },
  "time/generate": { color: "c2", dash: true },
  "time/score": { color: "c4", dash: true },
  "time/update": { color: "c3", dash: true },
  "memory/peak": { color: "c4" },
  "memory/state": { color: "c1", dash: true },
  "loss/policy": { color: "c4" },
  "optimizer/grad_norm": { color: "c4" },
  "optimizer/learning_rate": { color: "c1" },
  "optimizer/skipped_updates": { color: "c2" },
};

const COLORS: readonly ChartColor[] = ["c1", "c3", "c4", "c2"];

/** Four colours, then the same four dashed. */
export const styleAt = (at: number): LineStyle => ({
  color: COLORS[at % COLORS.length] as ChartColor,
  dash: at % (2 * COLORS.length) >= COLORS.length,
});

type Format = { format: (value: number) => string; tick?: (value: number) => string };

export const FORMATS: Record<ChartScale["format"], Format> = {
  number: { format: number },
  reward: { format: reward, tick },
  percent: { format: percent, tick: percent },
};

/** Words of a chart's sentence: "Up from 0.45 to 0.95", as a change or as a relative change. */
export type Words = { up: string; down: string; relative?: boolean };

export const WORDS: Words = { up: "Up", down: "Down" };
export const OWN_WORDS: Record<string, Words> = {
  entropy: { up: "Rose", down: "Fell", relative: true },
  length: { up: "Grew", down: "Shrank" },
};
