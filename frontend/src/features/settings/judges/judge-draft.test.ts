import { describe, expect, it } from "vitest";
import type { Judge } from "@/api/judges";
import { draftOf, faultsOf, toChange, toJudge } from "./judge-draft";

const JUDGE: Judge = {
  object: "judge",
  etag: "1",
  id: "judge_1",
  name: "strict",
  base_url: "https://judge.example/v1",
  model: "m",
  input_price: 0.5,
  output_price: 1,
  structured: "json_schema",
  concurrency: 8,
  timeout_seconds: 60,
  retries: 4,
  has_key: true,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};

describe("a new judge", () => {
  it("says only what was typed", () => {
    const draft = { ...draftOf(undefined), name: " strict ", base_url: "https://j/v1", model: "m" };
    expect(toJudge(draft)).toEqual({
      name: "strict",
      base_url: "https://j/v1",
      model: "m",
      structured: "json_schema",
    });
    expect(toJudge({ ...draft, key: "sk", input_price: "0.5", retries: "many" })).toMatchObject({
      api_key: "sk",
      input_price: 0.5,
      retries: "many",
    });
  });
});

describe("a changed judge", () => {
  it("keeps its key unless one is typed or it is taken away", () => {
    const draft = draftOf(JUDGE);
    expect(draft.key).toBe("");
    expect(toChange(draft, JUDGE)).toEqual({});
    expect(toChange({ ...draft, model: "n", timeout_seconds: "30" }, JUDGE)).toEqual({
      model: "n",
      timeout_seconds: 30,
    });
    expect(toChange({ ...draft, key: "sk-new" }, JUDGE)).toEqual({ api_key: "sk-new" });
    expect(toChange({ ...draft, dropKey: true }, JUDGE)).toEqual({ api_key: null });
  });
});

describe("a refusal", () => {
  it("stands at its fields", () => {
    const one = Object.assign(new Error("base_url: write an address"), { param: "base_url" });
    expect(faultsOf(one)).toEqual({ base_url: "Write an address" });
    const errors = [
      { param: "retries", message: "Input should be a valid integer" },
      { param: "concurrency", message: "Too many" },
    ];
    expect(faultsOf(Object.assign(new Error("two"), { errors }))).toEqual({
      retries: "Input should be a valid integer",
      concurrency: "Too many",
    });
    expect(faultsOf(new Error("away"))).toEqual({ "": "Away" });
    expect(faultsOf(null)).toEqual({});
  });
});
