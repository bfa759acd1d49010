import { expect, test } from "vitest";
import type { MetricCurves } from "@/api/compare";
import { type Entry, endsSentence, firstHighlighted, linesOf } from "./lines";

const entries = (count: number): Entry[] =>
  Array.from({ length: count }, (_, n) => ({ id: `job ${n}`, label: `Job ${n}`, reward: n / 10 }));

const curves = (key: string, count: number, band = false): MetricCurves => ({
  key,
  curves: Array.from({ length: count }, (_, n) => ({
    job: band ? null : `job ${n}`,
    group: band ? `job ${n}` : null,
    steps: [1, 2],
    values: [0, n],
    minima: band ? [0, n - 1] : null,
    maxima: band ? [0, n + 1] : null,
    jobs: null,
  })),
});

test("a few lines are all highlighted; of many the baseline and the best", () => {
  expect(firstHighlighted(entries(8))).toHaveLength(8);
  expect(firstHighlighted(entries(50))).toEqual(["job 0", "job 49", "job 48", "job 47", "job 46", "job 45"]);
});

test("highlighted lines differ in colour or dash and are drawn over the context", () => {
  const lines = linesOf(curves("reward/mean", 10), entries(10), ["job 3", "job 0"]);
  expect(lines.slice(0, 8).every(({ color }) => color === "c0")).toBe(true);
  expect(lines.slice(8).map(({ label, color }) => [label, color])).toEqual([
    ["Job 0", "c2"],
    ["Job 3", "c1"],
  ]);
  const eight = entries(8).map(({ id }) => id);
  const looks = linesOf(curves("reward/mean", 8), entries(8), eight).map(
    ({ color, dash }) => `${color} ${dash}`,
  );
  expect(new Set(looks).size).toBe(8);
});

test("groups have a band, held-out rewards of groups too", () => {
  const [line] = linesOf(curves("held_out/reward_mean", 1, true), entries(1), ["job 0"]);
  expect(line?.sparse).toBe(false);
  expect(line?.source?.maxima).toEqual([0, 1]);
  expect(linesOf(curves("held_out/reward_mean", 1), entries(1), ["job 0"])[0]?.sparse).toBe(true);
});

test("the sentence names where few lines end, and of many the highest and the lowest", () => {
  const sentence = (count: number) =>
    endsSentence(linesOf(curves("reward/mean", count), entries(count), []), String);
  expect(sentence(2)).toBe("Job 0 ends at 0; Job 1 ends at 1.");
  expect(sentence(9)).toBe("Highest at the end: Job 8 8; lowest: Job 0 0.");
  expect(sentence(0)).toBe("No values yet.");
});
