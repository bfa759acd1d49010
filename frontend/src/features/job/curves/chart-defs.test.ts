import { describe, expect, it } from "vitest";
import { BIG, bigCharts, chartGroups, searchText } from "./chart-defs";
import { matcher } from "./view-state";

const METRIC = {
  key: "held_out/length_mean",
  unit: "tokens",
  title: "Held-out length",
  meaning: "",
  reading: "",
  better: "neither" as const,
};
const KEYS = [
  "reward/mean",
  "reward/correct/mean",
  "held_out/length_mean",
  "strange/thing",
  "tokens/trained",
];
const titles = (keys: string[]) =>
  chartGroups(keys, [METRIC]).flatMap((group) => group.charts.map((def) => def.title));

describe("chartGroups", () => {
  it("has the fixed charts in the same places before anything was measured", () => {
    const before = titles([]);
    expect(titles(KEYS).slice(0, before.length)).toEqual(before);
  });

  it("shows every metric exactly once, strangers too, and no counters", () => {
    const charts = [...BIG, ...chartGroups(KEYS, [METRIC]).flatMap((group) => group.charts)];
    const keys = charts.flatMap((def) => def.lines.map((line) => line.key));
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toContain("strange/thing");
    expect(keys).not.toContain("tokens/trained");
    expect(new Set(charts.map((def) => def.id)).size).toBe(charts.length);
  });

  it("draws what comes per k or per slice together, without the ends of intervals", () => {
    const keys = [
      "held_out/pass@4",
      "held_out/pass@1",
      "held_out/pass@4/low",
      "slice/easy/reward",
      "slice/hard/reward",
    ];
    const charts = chartGroups(keys, []).flatMap((group) => group.charts);
    const pass = charts.find((def) => def.title === "Pass@k");
    expect(pass?.lines.map((line) => line.label)).toEqual(["k = 1", "k = 4"]);
    expect(pass?.unit).toBe("share");
    const slices = charts.find((def) => def.title === "Slices: reward");
    expect(slices?.lines.map((line) => line.label)).toEqual(["easy", "hard"]);
    expect(charts.some((def) => def.title.includes("/"))).toBe(false);
  });

  it("draws the shaped reward beside yours, and only where there is one", () => {
    const lines = (keys: string[]) => bigCharts(keys)[0]?.lines.map((line) => line.key);
    expect(lines(KEYS)).toEqual(["reward/mean", "held_out/reward_mean"]);
    const keys = [...KEYS, "reward/shaped_mean"];
    expect(lines(keys)).toContain("reward/shaped_mean");
    expect(titles(keys)).not.toContain("reward/shaped_mean");
  });

  it("has the held-out rows' rewards and parts in charts of their own", () => {
    const keys = ["held_out/right/mean", "held_out/right/part/digits"];
    expect(titles(keys)).toContain("Held-out: parts of the reward");
    expect(titles(keys)).not.toContain("held_out/right/mean");
    expect(titles([...keys, "held_out/short/mean"])).toContain("Held-out: rewards");
  });

  it("does not repeat the only reward, and compares several in one chart", () => {
    expect(titles(KEYS)).not.toContain("Rewards");
    const groups = chartGroups([...KEYS, "reward/format/mean", "reward/format/part/tags"], []);
    const charts = groups.flatMap((group) => group.charts);
    const chart = charts.find((def) => def.id === "rewards");
    expect(chart?.lines.map((line) => line.label)).toEqual(["correct", "format"]);
    expect(charts.find((def) => def.id === "parts-format")?.lines[0]?.label).toBe("tags");
  });

  it("draws a critic's values with what came, in jobs that have one", () => {
    const titles = (keys: string[]) => chartGroups(keys, []).map((group) => group.title);
    expect(titles(["reward/mean", "memory/state"])).not.toContain("Critic");
    expect(titles(["memory/state"])).not.toContain("Other");
    const keys = ["critic/value_mean", "critic/return_mean", "critic/loss", "critic/grad_norm"];
    const groups = chartGroups(keys, []);
    const critic = groups.find((group) => group.title === "Critic");
    expect(critic?.charts.map((def) => def.lines.map((line) => line.key))).toEqual([
      ["critic/value_mean", "critic/return_mean"],
      ["critic/loss"],
    ]);
    const other = groups.find((group) => group.title === "Other");
    expect(other?.charts.map((def) => def.id)).toEqual(["critic-grad-norm"]);
  });

  it("tells more lines than colours apart by dashes", () => {
    const many = Array.from({ length: 6 }, (_, i) => `reward/r${i}/mean`);
    const chart = chartGroups(many, [])
      .flatMap((group) => group.charts)
      .find((def) => def.id === "rewards");
    expect(new Set(chart?.lines.map((line) => `${line.color} ${line.dash}`)).size).toBe(6);
  });
});

describe("searchText", () => {
  it("is found by group, title and key", () => {
    const def = chartGroups([], [])[0]?.charts[0];
    for (const filter of ["signal", "groups without", "all_right", "equal, above 0"]) {
      expect(def && matcher(filter)(searchText(def, "Signal"))).toBe(true);
    }
  });
});
