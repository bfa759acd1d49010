import { describe, expect, it } from "vitest";
import type { JobDefaults } from "@/api/job-defaults";
import jobSpec from "@/lib/fixtures/job-spec.json";
import type { JsonObject } from "@/lib/paths";
import { fieldsOf } from "@/lib/spec-fields";
import { defaultOf, type JsonSchema } from "@/lib/spec-schema";
import { type Basis, type Draft, fromJob, toSpec } from "../draft";
import { autoOf, request, sameButSuggested, timeWords, withFallbacks, withSuggested } from "./suggested";

const schema = jobSpec as unknown as JsonSchema;
const plain = defaultOf(schema, schema) as JsonObject;
const basis: Basis = {
  schema,
  presets: [],
  algorithms: { grpo: { algorithm: plain.algorithm as JsonObject } },
};
const draft: Draft = { model: "m", data: { dataset: "file-1" }, name: "mine" };
const fieldsFor = (one: Draft) => fieldsOf(schema, one, plain);
const range = (low: number, expected: number, high: number) => ({ low, expected, high });
const suggested: JobDefaults = {
  data: [
    {
      field: "rollout.engine",
      value: "auto",
      becomes: "transformers",
      reason: "No online worker has a GPU.",
      basis: "workers",
    },
    { field: "rollout.max_completion_tokens", value: 512, reason: "A model of its size.", basis: "model" },
    { field: "rollout.prompts_per_step", value: 16, reason: "448 rows.", basis: "general" },
    { field: "limits.steps", value: 67, reason: "54 rows.", basis: "data" },
  ],
};

describe("suggested values", () => {
  it("are what an empty field shows and what the job states", () => {
    const fields = withFallbacks(fieldsFor(draft), suggested);
    const fallback = (path: string) => fields.find((one) => one.path === path)?.fallback;
    expect([fallback("limits.steps"), fallback("rollout.max_completion_tokens")]).toEqual([67, 512]);
    expect(fallback("rollout.engine")).toBe("auto");
    expect(autoOf(suggested, "rollout.engine")).toBe("auto (transformers)");
    // 16 prompts are the server's default too, and auto is resolved there.
    expect(toSpec(basis, withSuggested(draft, suggested))).toEqual({
      ...draft,
      rollout: { max_completion_tokens: 512 },
      limits: { steps: 67 },
    });
  });

  it("never replace what was typed, not even the server's own default", () => {
    const typed = { ...draft, limits: { steps: 100 } };
    expect(withSuggested(typed, suggested).limits).toEqual({ steps: 100 });
    expect(toSpec(basis, withSuggested(typed, suggested)).limits).toBeUndefined();
    expect(request(basis, typed, fieldsFor(typed))).toMatchObject({ limits: { steps: 100 } });
  });

  it("are asked for once there is a model and a dataset, without faulty values", () => {
    expect(request(basis, { model: "m" }, [])).toBeNull();
    const faulty = { ...draft, limits: { steps: "many" }, optimizer: { learning_rate: 1e-5 } };
    expect(request(basis, faulty, fieldsFor(faulty))).toEqual({
      model: "m",
      data: { dataset: "file-1" },
      optimizer: { learning_rate: 1e-5 },
    });
  });

  it("leave a pre-flight's report valid when only they have followed it", () => {
    const before = { ...draft, limits: { steps: 67 } };
    const after = { ...draft, limits: { steps: 134 } };
    expect(sameButSuggested(before, after, draft)).toBe(true);
    expect(sameButSuggested(before, after, after)).toBe(false);
    expect(sameButSuggested(before, { ...before, name: "renamed", export: ["team"] }, draft)).toBe(true);
    expect(sameButSuggested(before, { ...after, model: "other" }, draft)).toBe(false);
  });

  it("do not change a copied job: its sizes are stated", () => {
    const job = { spec: draft, resolved_spec: { limits: { steps: 100 }, rollout: { engine: "vllm" } } };
    expect(fromJob(job as unknown as Parameters<typeof fromJob>[0])).toEqual({
      model: "m",
      data: { dataset: "file-1" },
      limits: { steps: 100 },
    });
  });
});

describe("time before the start", () => {
  it("has a range, a step and a reason, or says what to do", () => {
    const estimate = {
      seconds: range(180, 240, 420),
      seconds_per_step: range(3.8, 4.1, 5.6),
      source: "jobs" as const,
      ids: ["ftjob-1"],
      device: "cpu",
      reason: "From 1 earlier job.",
    };
    expect(timeWords({ ...suggested, estimate })).toEqual({
      text: "Estimated time: about 4 min",
      note: "3–7 min · 4.1 s per step",
      reason: "From 1 earlier job.",
    });
    const none = { ...suggested, estimate_note: "No estimate yet: run the pre-flight." };
    expect(timeWords(none)?.text).toBe("No estimate yet: run the pre-flight.");
    expect(timeWords(undefined)).toBeNull();
  });
});
