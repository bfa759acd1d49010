import { expect, it } from "vitest";
import { EMPTY, forkBody, valueAt } from "./fork-body";

it("leaves what is empty as it is in the other job", () => {
  expect(forkBody(20, EMPTY, "right")).toEqual({ step: 20, name: null, set: {} });
});

it("sets what was filled in", () => {
  const draft = {
    name: " other way ",
    preset: "dr_grpo",
    reward: "rew_2",
    numbers: { "optimizer.learning_rate": 1e-5, "limits.steps": undefined },
  };
  expect(forkBody(20, draft, "right")).toEqual({
    step: 20,
    name: "other way",
    set: {
      "algorithm.preset": "dr_grpo",
      rewards: [{ name: "right", reward: "rew_2" }],
      "optimizer.learning_rate": 1e-5,
    },
  });
});

it("asks for nothing while a number is half typed", () => {
  expect(forkBody(20, { ...EMPTY, numbers: { "limits.steps": "1e" } }, "right")).toBeNull();
});

it("knows what was at work in a step", () => {
  const spec = { optimizer: { learning_rate: 1e-4 } };
  const change = (step: number | null, value: number) => ({
    id: `chg_${value}`,
    job: "ftjob-1",
    type: "setting" as const,
    setting: "optimizer.learning_rate",
    value,
    step,
    created_at: "2026-01-01T00:00:00Z",
  });
  const changes = [change(4, 5e-5), change(9, 2e-5), change(null, 1e-6)];
  const at = (step: number) => valueAt(spec, changes, "optimizer.learning_rate", step);
  expect([at(3), at(4), at(20)]).toEqual([1e-4, 5e-5, 2e-5]);
});
