import { expect, it } from "vitest";
import type { CompletionRow } from "@/api/jobs";
import { groupsOf } from "./groups";

const row = (prompt_no: number, sample_no: number, reward: number | null, advantage: number | null = null) =>
  ({ prompt_no, sample_no, reward, advantage }) as CompletionRow;

it("makes groups by prompt, the best completion first", () => {
  const [first, second] = groupsOf([row(1, 0, 1), row(0, 0, 0, -0.7), row(0, 1, 1, 0.7)]);
  expect(first?.promptNo).toBe(0);
  expect(first?.rows.map((one) => one.sample_no)).toEqual([1, 0]);
  expect(second?.rows).toHaveLength(1);
});

it("says whether a group can teach, leaving out completions without a reward", () => {
  const kinds = groupsOf([
    ...[row(0, 0, 1), row(0, 1, 1), row(0, 2, null)],
    ...[row(1, 0, 0), row(1, 1, 0)],
    ...[row(2, 0, 0), row(2, 1, 1)],
    ...[row(3, 0, null)],
  ]);
  expect(kinds.map((group) => group.kind)).toEqual(["all right", "all wrong", "mixed", "no reward"]);
  expect(kinds.map((group) => group.mean)).toEqual([1, 0, 0.5, null]);
});
