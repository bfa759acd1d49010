import { describe, expect, it } from "vitest";
import type { CalibrationReport } from "@/api/labels";
import {
  agreementText,
  calibrationFacts,
  kappaWords,
  labelKey,
  nextPlaces,
  progressText,
  warning,
} from "./label-words";

const place = (step: number) => ({ step, prompt_no: 0, sample_no: 1 });
const REPORT: CalibrationReport = {
  labels: 32,
  compared: 30,
  agreement: 0.9,
  interval: [0.74, 0.965],
  kappa: 0.8,
  right_passed: 14,
  right_failed: 1,
  wrong_passed: 2,
  wrong_failed: 13,
  right_share: 0.5,
  passed_share: 0.533,
  milliseconds: 1.25,
  cost_per_1000: null,
  enough: true,
};

describe("the queue of completions to label", () => {
  it("goes on behind what was labelled or skipped, and looks one ahead", () => {
    const queue = [place(1), place(2), place(3), place(4)];
    const done = new Set([labelKey(place(1)), labelKey(place(3))]);
    expect(nextPlaces(queue, done)).toEqual([place(2), place(4)]);
    expect(nextPlaces(queue, new Set(queue.map(labelKey)))).toEqual([]);
  });

  it("tells training rows from held-out ones", () => {
    expect(labelKey(place(1))).toBe(labelKey({ ...place(1), split: "train" }));
    expect(labelKey(place(1))).not.toBe(labelKey({ ...place(1), split: "held_out" }));
  });

  it("counts to thirty", () => {
    expect(progressText(12)).toBe("12 of 30 labelled");
    expect(progressText(31)).toBe("31 completions labelled");
  });
});

describe("what the report says", () => {
  it("gives the agreement with its interval", () => {
    expect(agreementText(REPORT)).toBe(
      "You and the reward agree on 90% (95%: 74% to 97%) of 30 completions.",
    );
    expect(agreementText({ ...REPORT, compared: 10, enough: false })).toContain("20 more");
    expect(agreementText({ ...REPORT, agreement: null, interval: null })).toContain("No labelled completion");
  });

  it("warns of wrong answers that are paid before right ones that are not", () => {
    expect(warning(REPORT)).toContain("passes 2 wrong answers");
    expect(warning({ ...REPORT, wrong_passed: 0 })).toContain("fails 1 right answer");
    expect(warning({ ...REPORT, wrong_passed: 0, right_failed: 0 })).toBeNull();
  });

  it("says what κ means", () => {
    expect([-0.1, 0, 0.3, 0.5, 0.6, 0.8, 1].map(kappaWords)).toEqual([
      "worse than chance",
      "slight",
      "fair",
      "moderate",
      "substantial",
      "almost perfect",
      "almost perfect",
    ]);
    expect(kappaWords(null)).toBe("no better than chance");
  });

  it("gives a cost only where it is known", () => {
    const names = (report: CalibrationReport) => calibrationFacts(report).map(({ name }) => name);
    expect(names(REPORT)).not.toContain("Cost");
    expect(names({ ...REPORT, cost_per_1000: 0.4 })).toContain("Cost");
  });
});
