import { expect, it } from "vitest";
import { changedSettings } from "./change-settings";

const setting = (name: string, value: number) => ({ setting: name, title: name, value, created_with: value });
const SETTINGS = [setting("optimizer.learning_rate", 1e-5), setting("rollout.temperature", 1)];

it("asks for what differs from now", () => {
  expect(changedSettings(SETTINGS, {})).toEqual([]);
  expect(changedSettings(SETTINGS, { "optimizer.learning_rate": 5e-6, "rollout.temperature": 1 })).toEqual([
    { setting: "optimizer.learning_rate", value: 5e-6 },
  ]);
});

it("asks for nothing while a field holds no number", () => {
  expect(
    changedSettings(SETTINGS, { "optimizer.learning_rate": "1e-", "rollout.temperature": 0.8 }),
  ).toBeNull();
});
