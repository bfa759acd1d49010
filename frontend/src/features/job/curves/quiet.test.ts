import { describe, expect, it } from "vitest";
import type { Metrics } from "@/api/jobs";
import definitions from "@/lib/fixtures/metrics.json" with { type: "json" };
import { seriesMap } from "../series";
import { chartGroups, type Definitions, HEADLINE } from "./charts";
import { arranged, inPlace, isQuiet, LATE, withoutRepeated } from "./quiet";
import { readPins, toggled } from "./use-pins";

const META = definitions as Definitions;
const series = (values: Record<string, (number | null)[]>) =>
  seriesMap({
    series: Object.entries(values).map(([key, column]) => ({
      key,
      kind: key.startsWith("held_out/") ? "held_out" : "train",
      steps: column.map((_, i) => i + 1),
      values: column,
      ts: column.map((_, i) => i),
    })),
  } as unknown as Metrics);
const groups = chartGroups([], META);
const chart = (id: string) => groups.flatMap(({ charts }) => charts).find((def) => def.id === id);
const quiet = (id: string, values: Record<string, (number | null)[]>) => {
  const def = chart(id);
  return def && isQuiet(def, series(values));
};

describe("a quiet chart", () => {
  it("has lines that are constant, negligible, or were not measured", () => {
    expect(quiet("truncated", { "completions/truncated_share": [0, 0, null, 0] })).toBe(true);
    expect(quiet("truncated", { "completions/truncated_share": [0, 0, 0.1, 0] })).toBe(false);
    expect(quiet("loss", { "loss/policy": [1e-8, -3e-7] })).toBe(true);
    expect(quiet("loss", { "loss/policy": [1e-8, 0.1] })).toBe(false);
    expect(quiet("skipped", {})).toBe(true);
  });

  it("has no line that moves", () => {
    const flat = { "groups/all_wrong_share": [0, 0] };
    expect(quiet("dead-groups", { ...flat, "groups/all_right_share": [0, 0] })).toBe(true);
    expect(quiet("dead-groups", { ...flat, "groups/all_right_share": [0, 0.2] })).toBe(false);
  });
});

describe("a chart that is measured later", () => {
  const keys = ["held_out/pass@1", "held_out/pass@4", "held_out/best@1", "held_out/best@4"];
  const before = chartGroups([], META);
  const places = new Set(before.flatMap(({ charts }) => charts.map(({ id }) => id)));
  const ids = (groups: readonly { charts: readonly { id: string }[] }[]) =>
    groups.map(({ charts }) => charts.map(({ id }) => id));

  it("follows the others, which keep their places", () => {
    const values = Object.fromEntries(keys.map((key, at) => [key, [at, at + 1]]));
    const after = inPlace(chartGroups(keys, META), places, series(values));
    expect(ids(after.slice(0, -1))).toEqual(ids(before));
    expect(after.at(-1)?.title).toBe(LATE);
    expect(ids(after).at(-1)).toContain("pass-at-k");
  });

  it("is not shown where it repeats another", () => {
    const values = Object.fromEntries(keys.map((key) => [key, [0, 1]]));
    expect(ids(inPlace(chartGroups(keys, META), places, series(values))).flat()).not.toContain("best-at-k");
    expect(inPlace(before, places, series({}))).toEqual(before);
  });
});

describe("best@k", () => {
  const keys = ["held_out/pass@1", "held_out/best@1", "held_out/pass@4", "held_out/best@4"];
  const ids = (best: number) => {
    const values = {
      "held_out/pass@1": [0.5, 0.6],
      "held_out/best@1": [0.5, 0.6],
      "held_out/pass@4": [0.7, 0.8],
    };
    return withoutRepeated(
      chartGroups(keys, META),
      series({ ...values, "held_out/best@4": [0.7, best] }),
    ).flatMap((group) => group.charts.map((def) => def.id));
  };

  it("is left out where it repeats pass@k, as of 0/1 rewards", () => {
    expect(ids(0.8)).toContain("pass-at-k");
    expect(ids(0.8)).not.toContain("best-at-k");
    expect(ids(0.9)).toContain("best-at-k");
  });
});

describe("the arrangement", () => {
  const everything = arranged(
    groups,
    ["memory", "truncated", "entropy", "gone"],
    new Set(["truncated", "skipped", "entropy"]),
  );
  const places = everything.groups.flatMap(({ charts }) => charts.map((def) => def.id));

  it("has pinned charts in their order, even quiet ones, and nothing twice", () => {
    expect(everything.pinned.map((def) => def.id)).toEqual(["memory", "truncated"]);
    expect(places).not.toContain("memory");
    expect(everything.quiet.map((def) => def.id)).toEqual(["skipped"]);
    expect(places).not.toContain("skipped");
  });

  it("leaves the headline where it is", () => {
    expect(everything.groups[0]?.title).toBe(HEADLINE);
    expect(everything.groups[0]?.charts.map((def) => def.id)).toEqual(["reward", "entropy", "length"]);
  });
});

describe("pins", () => {
  it("come and go, and outlive what else is stored there", () => {
    expect(toggled(toggled([], "kl"), "gap")).toEqual(["kl", "gap"]);
    expect(toggled(["kl", "gap"], "kl")).toEqual(["gap"]);
    expect(['["kl", 3]', "{}", "no", null].map(readPins)).toEqual([["kl"], [], [], []]);
  });
});
