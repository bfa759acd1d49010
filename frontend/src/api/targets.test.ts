import { expect, it } from "vitest";
import { choiceOfCheckpoint } from "./targets";

it("calls a checkpoint by its job and step, and by its id until those are loaded", () => {
  const job = { name: "sums, lr 0.02", model: "starter-arith" };
  const checkpoint = { step: 20, held_out_reward: 0.958 };
  expect(choiceOfCheckpoint("ftckpt_1", job, checkpoint).label).toBe(
    "sums, lr 0.02 · step 20 · 0.96 · starter-arith",
  );
  expect(choiceOfCheckpoint("ftckpt_1", undefined, undefined).label).toBe("Checkpoint ftckpt_1");
});
