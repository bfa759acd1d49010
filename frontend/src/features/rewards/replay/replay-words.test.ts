import { describe, expect, it } from "vitest";
import type { ReplayReport } from "@/api/replays";
import { replacedBy, replayFacts, replayVerdict } from "./replay-words";

const REPORT: ReplayReport = {
  completions: 100,
  compared: 98,
  steps: [1, 2],
  old_mean: [0.4, 0.5],
  new_mean: [0.3, 0.4],
  rank_correlation: 0.97,
  same_order: 0.9,
  old_useful: 0.5,
  new_useful: 0.5,
  flips: 3,
  shown_flips: [],
  errors: { exception: 2 },
  reward_ms: 1.234,
};

describe("words of a replay", () => {
  it("says how alike the two are", () => {
    expect(replayVerdict(REPORT)).toBe(
      "Both rank completions almost the same. 3 completions pass under one only.",
    );
    expect(replayVerdict({ ...REPORT, rank_correlation: 0.1, flips: 1 })).toBe(
      "The rankings disagree: the job would learn something else. 1 completion passes under one only.",
    );
    expect(replayVerdict({ ...REPORT, rank_correlation: null, flips: 0 })).toContain(
      "No completion passes under one only.",
    );
    expect(replayVerdict({ ...REPORT, compared: 0 })).toContain("there is no comparison");
  });

  it("says when groups become more or less useful", () => {
    expect(replayVerdict({ ...REPORT, new_useful: 0.75 })).toContain(
      "More groups have rewards that differ: 75% instead of 50%.",
    );
    expect(replayVerdict({ ...REPORT, new_useful: 0.25 })).toContain("Fewer groups");
  });

  it("counts failures by their kind", () => {
    const facts = new Map(replayFacts(REPORT).map((fact) => [fact.name, fact]));
    expect(facts.get("Failures")).toMatchObject({ text: "2", note: "exception: 2" });
    expect(facts.get("Useful groups")?.text).toBe("50% → 50%");
  });

  it("says what its judges cost, where they have a price", () => {
    expect(replayFacts(REPORT).some((fact) => fact.name === "Cost")).toBe(false);
    const cost = replayFacts({ ...REPORT, cost: 0.05 }).find((fact) => fact.name === "Cost");
    expect(cost).toMatchObject({ text: "0.05", note: "for judges, 0.5 per 1,000 completions" });
  });

  it("names what was replayed", () => {
    expect(replacedBy({ revision: 3 })).toBe("revision 3");
    expect(replacedBy({ revision: null })).toBe("unsaved source");
  });
});
