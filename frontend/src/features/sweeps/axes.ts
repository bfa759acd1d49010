import type { SweepTrial } from "@/api/sweeps";
import { settingOf, textOf } from "./trials";

export type Axis = {
  path: string;
  /** Share of the height from the bottom, or null where the trial has no value. */
  at: (trial: SweepTrial) => number | null;
  ticks: { label: string; at: number }[];
};

const LOG_RATIO = 20;
const MOST_TICKS = 8;

function numeric(path: string, values: readonly number[], read: (trial: SweepTrial) => unknown): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const log = low > 0 && high / low >= LOG_RATIO;
  const scale = log ? Math.log : (value: number) => value;
  const span = scale(high) - scale(low);
  const place = (value: number) => (span === 0 ? 0.5 : (scale(value) - scale(low)) / span);
  const distinct = [...new Set(values)].sort((a, b) => a - b);
  const labelled = distinct.length <= MOST_TICKS ? distinct : [low, high];
  return {
    path,
    at: (trial) => {
      const value = read(trial);
      return typeof value === "number" ? place(value) : null;
    },
    ticks: labelled.map((value) => ({ label: textOf(value), at: place(value) })),
  };
}

function choices(path: string, values: readonly unknown[]): Axis {
  const labels = [...new Set(values.map(textOf))];
  const place = (label: string) => (labels.length === 1 ? 0.5 : labels.indexOf(label) / (labels.length - 1));
  return {
    path,
    at: (trial) => place(textOf(settingOf(trial, path))),
    ticks: labels.map((label) => ({ label, at: place(label) })),
  };
}

/** One axis per varied path, and the objective's as the last. */
export function axesOf(paths: readonly string[], trials: readonly SweepTrial[]): Axis[] {
  const axes = paths.map((path) => {
    const values = trials.map((trial) => settingOf(trial, path));
    return values.every((value) => typeof value === "number")
      ? numeric(path, values as number[], (trial) => settingOf(trial, path))
      : choices(path, values);
  });
  const rewards = trials.flatMap(({ objective }) => (objective === null ? [] : [objective]));
  return [...axes, numeric("held-out reward", rewards, ({ objective }) => objective)];
}
