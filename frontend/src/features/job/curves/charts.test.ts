import { describe, expect, it } from "vitest";
import definitions from "@/lib/fixtures/metrics.json" with { type: "json" };
import { chartGroups, type Definitions, HEADLINE, searchText } from "./charts";
import { matcher } from "./view-state";

const META = definitions as Definitions;
const charts = (keys: readonly string[]) => chartGroups(keys, META).flatMap((group) => group.charts);
const chart = (keys: readonly string[], id: string) => charts(keys).find((def) => def.id === id);
const titles = (keys: readonly string[]) => charts(keys).map((def) => def.title);
const labels = (keys: readonly string[], id: string) => chart(keys, id)?.lines.map((line) => line.label);
const KEYS = [
  "reward/mean",
  "reward/correct/mean",
  "held_out/length_mean",
  "strange/thing",
  "tokens/trained",
];

describe("chartGroups", () => {
  it("has the fixed charts in the same places before anything was measured", () => {
    for (const before of chartGroups([], META)) {
      const after = chartGroups(KEYS, META).find((group) => group.title === before.title);
      const ids = before.charts.map((def) => def.id);
      expect(after?.charts.slice(0, ids.length).map((def) => def.id)).toEqual(ids);
    }
  });

  it("begins with reward, entropy and length", () => {
    const [headline] = chartGroups([], META);
    expect(headline?.title).toBe(HEADLINE);
    expect(headline?.charts.map((def) => def.title)).toEqual(["Reward", "Entropy", "Completion length"]);
  });

  it("shows every metric exactly once, strangers too, and no counters", () => {
    const keys = charts(KEYS).flatMap((def) => def.lines.map((line) => line.key));
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toContain("strange/thing");
    expect(keys).toContain("held_out/length_mean");
    expect(keys).not.toContain("tokens/trained");
    expect(new Set(charts(KEYS).map((def) => def.id)).size).toBe(charts(KEYS).length);
  });

  it("takes title, unit and scale from the definitions", () => {
    expect(chart(KEYS, "held-out-length-mean")).toMatchObject({ title: "Held-out length", unit: "tokens" });
    expect(chart([], "truncated")).toMatchObject({ title: "Truncated", min: 0, max: 0.1 });
    expect(chart([], "truncated")?.format(0.5)).toBe("50%");
    expect(chart([], "ratio")).toMatchObject({ min: undefined, max: undefined });
    expect(chart([], "dead-groups")?.about).toBe("groups/zero_variance_share");
  });

  it("shows a metric of a plug-in by its key, under held-out rows if it is one", () => {
    const groups = chartGroups(["strange/thing", "held_out/strange"], META);
    const places = groups.flatMap((group) =>
      group.charts.filter((def) => def.title.includes("strange")).map((def) => [group.title, def.title]),
    );
    expect(places).toEqual([
      ["Held-out rows", "held_out/strange"],
      ["Other", "strange/thing"],
    ]);
  });

  it("draws what comes per k or per slice together, without the ends of intervals", () => {
    const keys = [
      "held_out/pass@16",
      "held_out/pass@4",
      "held_out/pass@4/low",
      "slice/very easy/reward_mean",
      "slice/hard/reward_mean",
    ];
    expect(labels(keys, "pass-at-k")).toEqual(["k = 4", "k = 16"]);
    expect(chart(keys, "pass-at-k")).toMatchObject({ title: "Pass@k", unit: "share", max: 1 });
    expect(labels(keys, "slices-reward-mean")).toEqual(["hard", "very easy"]);
    expect(chart(keys, "slices-reward-mean")?.title).toBe("Slices: reward mean");
    expect(titles(keys).some((title) => title.includes("/"))).toBe(false);
  });

  it("keeps slices of training rows apart from held-out rows, shares up to 100%", () => {
    const keys = ["slice/hard/pass_share", "held_out/slice/hard/pass_share"];
    expect(chart(keys, "slices-pass-share")).toMatchObject({ section: "Training slices", min: 0, max: 1 });
    expect(chart(keys, "held-out-slices-pass-share")).toMatchObject({
      section: "Held-out rows",
      min: 0,
      max: 1,
    });
    expect(chart(keys, "slices-pass-share")?.tick?.(1)).toBe("100%");
  });

  it("draws the shaped reward with yours, and only where there is one", () => {
    expect(labels(KEYS, "reward")).toEqual(["train mean", "held-out"]);
    expect(labels([...KEYS, "reward/shaped_mean"], "reward")).toContain("with shaping");
  });

  it("has the held-out rows' rewards and parts in charts of their own", () => {
    const keys = ["held_out/right/mean", "held_out/right/part/digits"];
    expect(titles(keys)).toContain("Held-out: parts of “right”");
    expect(titles(keys)).not.toContain("held_out/right/mean");
    expect(titles([...keys, "held_out/short/mean"])).toContain("Held-out: rewards");
    expect(chart(keys, "held-out-parts-right")?.lines[0]?.sparse).toBe(true);
  });

  it("does not repeat the only reward, and compares several in one chart", () => {
    expect(titles(KEYS)).not.toContain("Rewards");
    const keys = [...KEYS, "reward/format/mean", "reward/format/part/tags", "reward/format/part/tags/spared"];
    expect(labels(keys, "rewards")).toEqual(["correct", "format"]);
    expect(labels(keys, "parts-format")).toEqual(["tags", "tags/spared"]);
  });

  it("gives labels of a reward charts of their own", () => {
    const key = "reward/tone/label/rude";
    expect(chart([key], "reward-tone-label-rude")).toMatchObject({ title: "tone: rude", section: "Other" });
  });

  it("draws a critic's values with the returns, in jobs that have one", () => {
    const sections = (keys: string[]) => chartGroups(keys, META).map((group) => group.title);
    expect(sections(["reward/mean", "memory/state"])).not.toContain("Critic");
    expect(sections(["memory/state"])).not.toContain("Other");
    const keys = ["critic/value_mean", "critic/return_mean", "critic/loss", "critic/grad_norm"];
    const groups = chartGroups(keys, META);
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
    const lines = chart(many, "rewards")?.lines;
    expect(new Set(lines?.map((line) => `${line.color} ${line.dash}`)).size).toBe(6);
  });
});

describe("searchText", () => {
  it("is found by section, title and key", () => {
    const def = chart([], "dead-groups");
    for (const filter of ["signal", "groups without", "all_right", "equal > 0"]) {
      expect(def && matcher(filter)(searchText(def))).toBe(true);
    }
  });
});
