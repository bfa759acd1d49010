import { describe, expect, it } from "vitest";
import type { PreflightReport } from "@/api/preflights";
import {
  costs,
  groupShares,
  hoursText,
  passBins,
  passSentence,
  progressWords,
  VERDICTS,
} from "./preflight-words";

const REPORT: PreflightReport = {
  verdict: "caution",
  reasons: [],
  completions: 64,
  reward_mean: 0.4,
  reward_std: 0.2,
  passes: { per_group: 4, histogram: [2, 1, 0, 1, 4], pass_at: { "1": 0.5, "4": 0.75 } },
  groups: { all_right: 0.5, all_wrong: 0.25, mixed: 0.25, useful: 0.3 },
  useful_batch: 38.4,
  error_share: 0.25,
  errors: { exception: 12, bad_value: 4 },
  reward_ms: { low: 1, expected: 2, high: 9 },
  tokens: { low: 10, expected: 20, high: 48 },
  truncated_share: 0.1,
  duplicate_share: 0,
  seconds_per_step: 1.5,
  hours: { low: 0.1, expected: 0.2, high: 0.5 },
  memory_gib: { low: 1, expected: 1.25, high: 2 },
  tokens_in_all: { low: 1000, expected: 2000, high: 9000 },
  device: "cpu",
};

describe("words of a pre-flight", () => {
  it("says the verdict without a colour", () => {
    expect(Object.values(VERDICTS).map(({ word }) => word)).toEqual(["Go", "Caution", "Stop"]);
    expect(new Set(Object.values(VERDICTS).map(({ sign }) => sign)).size).toBe(3);
  });

  it("tells where it is", () => {
    const progress = { step: 2, steps: 8, percent: 25, eta_seconds: 12 };
    expect(progressWords({ status: "queued", progress })).toBe("Waiting for a worker.");
    expect(progressWords({ status: "running", progress })).toBe(
      "Step 2 of 8 without learning, about 12 s left.",
    );
    expect(progressWords({ status: "running", progress: { ...progress, eta_seconds: null } })).toBe(
      "Step 2 of 8 without learning.",
    );
  });

  it("names few pass counts one by one and puts many on an axis", () => {
    expect(passBins(REPORT.passes)[4]).toEqual({ low: 4, high: 4, count: 4 });
    const many = { per_group: 32, histogram: new Array(33).fill(1), pass_at: {} };
    expect(passBins(many)[32]).toEqual({ low: 32, high: 33, count: 1 });
  });

  it("says how often the base passes", () => {
    expect(passSentence(REPORT.passes)).toBe(
      "8 groups of 4 completions each: a completion passes in 50% of cases, at least one of 4 in 75%.",
    );
    expect(passSentence({ per_group: 4, histogram: [0, 0, 0, 0, 0], pass_at: {} })).toBe(
      "No completion has a reward.",
    );
  });

  it("draws mixed groups between those that teach nothing", () => {
    expect(groupShares(REPORT.groups).map(({ label, share }) => [label, share])).toEqual([
      ["all pass", 0.5],
      ["mixed", 0.25],
      ["none passes", 0.25],
    ]);
  });

  it("gives an estimate with its ends", () => {
    expect(hoursText({ low: 0.1, expected: 0.2, high: 0.5 })).toEqual({
      text: "about 12 min",
      note: "6–30 min",
    });
    expect(hoursText({ low: 0.2, expected: 0.2, high: 0.2 })).toEqual({ text: "about 12 min", note: null });
  });

  it("tells failures by their kind", () => {
    const failures = costs(REPORT).find(({ name }) => name === "Reward failures");
    expect(failures).toEqual({
      name: "Reward failures",
      text: "25%",
      note: "exception: 12, bad value: 4",
    });
  });
});
