import { describe, expect, it } from "vitest";
import type { Schemas } from "./client";
import { applyEvents, isShortened } from "./live-state";
import { keepRecentEvents, recordEvents, withRecentEvents } from "./recent-events";

type JobEvent = Schemas["JobEvent"];
type Metrics = Schemas["Metrics"];

const EMPTY: Metrics = { object: "metrics", job: "ftjob-a", seq: 0, series: [] };

const point = (seq: number, step: number, reward: number | null, kind = "train"): JobEvent => ({
  seq,
  job: "ftjob-a",
  type: "metrics",
  data: { step, kind, values: { "reward/mean": reward }, ts: 1000 + seq },
});

const rewind = (seq: number, toStep: number): JobEvent => ({
  seq,
  job: "ftjob-a",
  type: "rewind",
  data: { to_step: toStep },
});

const curve = (metrics: Metrics, kind = "train") => {
  const series = metrics.series.find((one) => one.key === "reward/mean" && one.kind === kind);
  return series ? series.steps.map((step, i) => [step, series.values[i]]) : [];
};

const HISTORY = [
  point(1, 1, 0.1),
  point(2, 2, 0.2),
  point(3, 3, null),
  rewind(4, 1),
  point(5, 2, 0.5),
  point(6, 3, 0.6),
];
const TRUTH = [
  [1, 0.1],
  [2, 0.5],
  [3, 0.6],
];

/** All events in frames of the given sizes, each frame carrying its last event's cursor. */
function play(events: JobEvent[], size: number, start = EMPTY): Metrics {
  let metrics = start;
  for (let at = 0; at < events.length; at += size) {
    const frame = events.slice(at, at + size);
    metrics = applyEvents(metrics, frame, frame.at(-1)?.seq ?? metrics.seq);
  }
  return metrics;
}

describe("applyEvents", () => {
  it("gives the same curve however the events are cut into frames", () => {
    for (const size of [1, 2, 3, 6]) expect(curve(play(HISTORY, size))).toEqual(TRUTH);
  });

  it("changes nothing when a frame is delivered twice", () => {
    const once = play(HISTORY, 2);
    const twice = applyEvents(once, HISTORY.slice(2, 6), 6);
    expect(twice.series).toEqual(once.series);
    expect(twice.seq).toBe(6);
  });

  it("continues after a reconnect that repeats events around the cursor", () => {
    const before = applyEvents(EMPTY, HISTORY.slice(0, 3), 3);
    expect(curve(applyEvents(before, HISTORY.slice(1), 6))).toEqual(TRUTH);
  });

  it("forgets the points after a rewind, in training and held-out series", () => {
    const metrics = play(
      [point(1, 0, 0.4, "held_out"), point(2, 1, 0.1), point(3, 2, 0.2), point(4, 2, 0.9, "held_out")],
      4,
    );
    const after = applyEvents(metrics, [rewind(5, 1)], 5);
    expect(curve(after)).toEqual([[1, 0.1]]);
    expect(curve(after, "held_out")).toEqual([[0, 0.4]]);
  });

  it("keeps an undefined value as a hole", () => {
    expect(curve(play([point(1, 1, 0.1), point(2, 2, null), point(3, 3, 0.3)], 1))).toEqual([
      [1, 0.1],
      [2, null],
      [3, 0.3],
    ]);
  });

  it("puts a late point into its place and lets a repeated step win", () => {
    const metrics = play([point(1, 1, 0.1), point(2, 3, 0.3), point(3, 2, 0.2), point(4, 3, 0.9)], 1);
    expect(curve(metrics)).toEqual([
      [1, 0.1],
      [2, 0.2],
      [3, 0.9],
    ]);
  });

  it("moves the cursor over events that carry no points, and never back", () => {
    const log: JobEvent = { seq: 9, job: "ftjob-a", type: "log", data: {} };
    const metrics = applyEvents(EMPTY, [log], 9);
    expect(metrics.seq).toBe(9);
    expect(applyEvents(metrics, [], 4).seq).toBe(9);
  });

  it("leaves series without new points the same object, so that their charts are not redrawn", () => {
    const metrics = play([point(1, 0, 0.4, "held_out"), point(2, 1, 0.1)], 2);
    const after = applyEvents(metrics, [point(3, 2, 0.2)], 3);
    const held = (state: Metrics) => state.series.find((one) => one.kind === "held_out");
    expect(held(after)).toBe(held(metrics));
  });
});

describe("curves in buckets", () => {
  const bucketed: Metrics = {
    ...EMPTY,
    seq: 4,
    buckets: 2,
    series: [
      {
        key: "reward/mean",
        kind: "train",
        steps: [2, 4],
        values: [0.2, 0.4],
        ts: [1, 2],
        minima: [0.1, 0.3],
        maxima: [0.5, 0.6],
      },
    ],
  };

  it("get live points as buckets of one", () => {
    const [series] = applyEvents(bucketed, [point(5, 5, 0.7)], 5).series;
    expect(series).toMatchObject({ steps: [2, 4, 5], minima: [0.1, 0.3, 0.7], maxima: [0.5, 0.6, 0.7] });
    expect(bucketed.series[0]?.steps).toEqual([2, 4]);
  });

  it("lose a bucket that reaches over the step of a rewind, in every column", () => {
    const [series] = applyEvents(bucketed, [rewind(5, 3)], 5).series;
    expect(series).toMatchObject({ steps: [2], values: [0.2], ts: [1], minima: [0.1], maxima: [0.5] });
    expect(isShortened(bucketed)).toBe(true);
    expect(isShortened(EMPTY)).toBe(false);
  });
});

describe("withRecentEvents", () => {
  it("adds what came in while an older answer was on its way, once", () => {
    keepRecentEvents("ftjob-a");
    recordEvents("ftjob-a", HISTORY);
    const late = applyEvents(EMPTY, HISTORY.slice(0, 2), 2);
    expect(curve(withRecentEvents(late))).toEqual(TRUTH);
    expect(curve(withRecentEvents(withRecentEvents(late)))).toEqual(TRUTH);
    expect(withRecentEvents(late).seq).toBe(6);
  });

  it("leaves an answer alone that is as new as the stream, and other jobs", () => {
    keepRecentEvents("ftjob-a");
    recordEvents("ftjob-a", [point(1, 1, 0.1)]);
    const current = applyEvents(EMPTY, HISTORY, 6);
    expect(withRecentEvents(current)).toBe(current);
    const other = { ...EMPTY, job: "ftjob-b" };
    expect(withRecentEvents(other)).toBe(other);
  });
});
