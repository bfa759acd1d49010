import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/client";
import type { Dataset } from "@/api/datasets";
import { type Draft, EMPTY, fieldOf, missing, refusals, toSpec } from "./draft";

const dataset = (...columns: string[]) =>
  ({ id: "file-1", name: "sums", rows: 3, columns: columns.map((name) => ({ name })) }) as unknown as Dataset;

const full: Draft = {
  ...EMPTY,
  dataset: dataset("prompt", "answer"),
  reward: "rew_1",
  model: "starter-arith",
};

describe("toSpec", () => {
  it("takes the suggestion for every empty number", () => {
    expect(toSpec(full, undefined)).toEqual({
      model: "starter-arith",
      data: { dataset: "file-1" },
      rewards: [{ type: "python", reward: "rew_1" }],
      algorithm: { preset: "grpo" },
      rollout: { prompts_per_step: 16, completions_per_prompt: 8, max_completion_tokens: 256 },
      optimizer: { learning_rate: 1e-5 },
      limits: { steps: 100 },
    });
  });

  it("sends typed numbers, exponents too, and source instead of a stored reward", () => {
    const spec = toSpec(
      { ...full, learningRate: "2e-4", steps: " 5 ", source: "def grade(): ..." },
      undefined,
    );
    expect(spec.optimizer?.learning_rate).toBe(2e-4);
    expect(spec.limits?.steps).toBe(5);
    expect(spec.rewards).toEqual([{ type: "python", source: "def grade(): ..." }]);
  });

  it("sends a template only for a dataset without a prompt column", () => {
    const template = { promptTemplate: "{a}+{b}=" };
    expect(toSpec({ ...full, ...template }, undefined).data).toEqual({ dataset: "file-1" });
    expect(toSpec({ ...full, ...template, dataset: dataset("a", "b") }, undefined).data).toEqual({
      dataset: "file-1",
      prompt_template: "{a}+{b}=",
    });
  });
});

describe("missing", () => {
  it("names every field that is needed", () => {
    expect(Object.keys(missing(EMPTY, undefined))).toEqual(["model", "data.dataset", "rewards[0]"]);
    expect(missing(full, undefined)).toEqual({});
  });

  it("marks numbers that are none", () => {
    expect(Object.keys(missing({ ...full, steps: "ten" }, undefined))).toEqual(["limits.steps"]);
  });
});

describe("refusals", () => {
  it.each([
    ["rewards[0].source", "rewards[0]"],
    ["data.columns.prompt", "data.dataset"],
    ["data.prompt_template", "data.prompt_template"],
    ["rollout.completions_per_prompt", "rollout.completions_per_prompt"],
    ["optimizer.betas", null],
    [null, null],
  ])("%s belongs to %s", (param, field) => expect(fieldOf(param)).toBe(field));

  it("does not repeat the path that the envelope's message starts with", () => {
    const error = new ApiError(422, "invalid_input", "limits.steps: too many", null, "limits.steps", [
      { param: "limits.steps", message: "too many" },
    ]);
    expect(refusals(error)).toEqual({ "limits.steps": "too many" });
  });

  it("puts message and hint beside the field, and further errors beside theirs", () => {
    const error = new ApiError(422, "invalid_input", "Too few.", "Use 2.", "rollout.completions_per_prompt", [
      { param: "model", message: "Unknown model." },
    ]);
    expect(refusals(error)).toEqual({
      "rollout.completions_per_prompt": "Too few. Use 2.",
      model: "Unknown model.",
    });
  });
});
