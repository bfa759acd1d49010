import { describe, expect, it } from "vitest";
import { matchOf, rank } from "./rank";

const labels = (query: string, names: string[]) =>
  rank(
    query,
    names.map((label) => ({ label })),
  ).map(({ label }) => label);

describe("matchOf", () => {
  it("prefers the whole name, its start, a word's start, its inside, and letters with gaps, in this order", () => {
    const scores = ["jobs", "jobs of today", "newest jobs", "myjobs", "just overly big sets"].map((name) =>
      matchOf("jobs", name),
    );
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(new Set(scores).size).toBe(scores.length);
  });

  it("is 0 where a letter is missing", () => expect(matchOf("xyz", "Datasets")).toBe(0));

  it("finds the start of a later word although the letters stand inside an earlier one", () => {
    expect(matchOf("art", "starter-arith art")).toBe(80);
  });

  it("takes everything while nothing is typed", () => expect(matchOf("  ", "anything")).toBe(100));
});

describe("rank", () => {
  it("puts the best first and keeps the order among equals", () => {
    expect(labels("re", ["Adapters are", "Rewards", "New reward", "Retry"])).toEqual([
      "Rewards",
      "Retry",
      "New reward",
      "Adapters are",
    ]);
  });

  it("also looks at an id, a little lower than at a name", () => {
    const items = [
      { label: "Additions", also: "ftjob-abc" },
      { label: "ftjob-abc", also: "" },
      { label: "Other", also: "ftjob-xyz" },
    ];
    expect(rank("ftjob-abc", items).map(({ label }) => label)).toEqual(["ftjob-abc", "Additions"]);
  });

  it("drops what would need three gaps: noise, not an answer", () => {
    expect(labels("jobs", ["Just of bias", "Jobs"])).toEqual(["Jobs"]);
  });
});
