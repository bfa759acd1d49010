import { expect, it } from "vitest";
import { storedRewards } from "./stored-rewards";

it("finds the rewards that have golden cases", () => {
  const resolved_spec = {
    rewards: [
      { name: "correct", reward: "rew_1", revision: 3 },
      { name: "short", source: "def grade(sample, item): return 1", reward: null },
    ],
  };
  expect(storedRewards({ resolved_spec })).toEqual([{ id: "rew_1", name: "correct" }]);
  expect(storedRewards({ resolved_spec: null })).toEqual([]);
  expect(storedRewards(undefined)).toEqual([]);
});
