import { expect, it } from "vitest";
import { EMPTY, forkBody } from "./fork-body";

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
