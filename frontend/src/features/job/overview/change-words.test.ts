import { expect, it } from "vitest";
import type { JobChange } from "@/api/job-changes";
import { marksOf, revisionOf, sinceWords, valueWords } from "./change-words";

const change = (step: number | null): JobChange => ({
  id: `chg_${step}`,
  job: "ftjob-1",
  type: "reward",
  reward: "correct",
  revision: "rew_1@3",
  step,
  created_at: "2026-01-01T00:00:00Z",
});

it("marks the steps at which something changed, once each", () => {
  expect(marksOf([change(20), change(null), change(8), change(20)])).toEqual([8, 20]);
  expect(marksOf([])).toEqual([]);
});

it("reads which revision of which reward", () => {
  expect(revisionOf("rew_a@12")).toEqual({ reward: "rew_a", revision: 12 });
  expect(revisionOf("correct")).toBeNull();
});

it("says when it takes effect", () => {
  expect(sinceWords(change(12))).toBe("from step 12 on");
  expect(sinceWords(change(null))).toBe("from the next step on");
});

it("says a changed number as it would be typed", () => {
  expect(valueWords({ value: 5e-6, before: 1e-5 })).toBe("5e-6, before 1e-5");
  expect(valueWords({ value: 0, before: 0.04 })).toBe("0, before 0.04");
});
