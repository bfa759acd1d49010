import { expect, it } from "vitest";
import type { JobChange } from "@/api/job-changes";
import { liveRewards } from "./live-reward";

const change = (reward: string, revision: string, step: number | null) =>
  ({ type: "reward", reward, revision, step }) as JobChange;
const SPEC = {
  rewards: [
    { name: "right", reward: "rew_1", revision: 2 },
    { name: "short", source: "def grade(): ..." },
    { name: "kind", reward: "rew_2", revision: 1 },
  ],
};

it("are those that are stored, with the revision that scores now", () => {
  expect(liveRewards(SPEC, [])).toEqual([
    { name: "right", stored: "rew_1", revision: 2 },
    { name: "kind", stored: "rew_2", revision: 1 },
  ]);
  const changes = [change("right", "rew_1@3", 4), change("right", "rew_9@5", null)];
  expect(liveRewards(SPEC, changes)[0]).toEqual({ name: "right", stored: "rew_9", revision: 5 });
  expect(liveRewards(null, [])).toEqual([]);
});

it("stay as they are when a number of the job changes", () => {
  const rate = { type: "setting", setting: "optimizer.learning_rate", value: 1, step: 3 } as JobChange;
  expect(liveRewards(SPEC, [rate])[0]?.revision).toBe(2);
});
