import { describe, expect, it } from "vitest";
import type { Dataset } from "@/api/datasets";
import jobSpec from "@/lib/fixtures/job-spec.json";
import type { JsonObject } from "@/lib/paths";
import { fieldsOf } from "@/lib/spec-fields";
import { defaultOf, type JsonSchema } from "@/lib/spec-schema";
import {
  type Basis,
  type Draft,
  EMPTY,
  fromJob,
  ownProblems,
  rewardName,
  rewardsOf,
  toSpec,
  withDataset,
  withPreset,
  withSource,
  withStored,
} from "./draft";

const schema = jobSpec as unknown as JsonSchema;
const plain = defaultOf(schema, schema) as JsonObject;
const basis: Basis = {
  schema,
  presets: [],
  algorithms: { grpo: { algorithm: plain.algorithm as JsonObject } },
};

const dataset = (more: object) => ({ id: "file-1", rows: 3, columns: [], ...more }) as unknown as Dataset;
const full: Draft = {
  model: "starter-arith",
  data: { dataset: "file-1" },
  rewards: [{ type: "python", name: "correct", reward: "rew_1" }],
};

describe("toSpec", () => {
  it("says only what differs from the defaults: nothing beside a model, a dataset and a reward", () => {
    expect(toSpec(basis, full)).toEqual(full);
    const typed = { ...full, limits: { steps: 100 }, optimizer: { learning_rate: "auto" } };
    expect(toSpec(basis, typed)).toEqual(full);
  });

  it("keeps a learning rate that was typed", () => {
    const typed = { ...full, optimizer: { learning_rate: 1e-5 } };
    expect(toSpec(basis, typed)).toEqual(typed);
  });
});

describe("withDataset", () => {
  it("takes the dataset's prompt view and drops the columns of the one before", () => {
    const view = {
      columns: { prompt: null, answer: "solution" },
      prompt_template: "{a}+{b}=",
      system_prompt: null,
    };
    const first = withDataset(full, dataset({ id: "file-2", prompt_view: view }));
    expect(first.data).toEqual({
      dataset: "file-2",
      columns: { answer: "solution" },
      prompt_template: "{a}+{b}=",
    });
    expect(withDataset(first, dataset({ id: "file-3" })).data).toEqual({ dataset: "file-3" });
    expect(withDataset(first, null).data).toBeUndefined();
  });
});

describe("rewards", () => {
  it("of a fork's specification have nothing where it states null", () => {
    const item = { type: "python", name: "right", reward: "rew_1", source: null, revision: null };
    expect(rewardsOf({ rewards: [item] })).toEqual([{ type: "python", name: "right", reward: "rew_1" }]);
  });

  it("have names that the specification allows, each its own", () => {
    expect(rewardName("my reward (2).py", EMPTY)).toBe("my_reward_2");
    expect(rewardName("2nd", EMPTY)).toBe("reward_2nd");
    const right = { id: "rew_1", name: "right", kind: "python" } as const;
    const two = withStored(withStored(EMPTY, right), right);
    expect(rewardsOf(two).map((one) => one.name)).toEqual(["right", "right_2"]);
  });

  it("are of the type that was stored", () => {
    const grader = withStored(EMPTY, { id: "rew_2", name: "judged", kind: "grader" });
    expect(grader.rewards).toEqual([{ type: "grader", name: "judged", reward: "rew_2" }]);
  });

  it("can be code that is stored nowhere", () => {
    expect(withSource(EMPTY, "grade.py", "def grade(): ...").rewards).toEqual([
      { type: "python", name: "grade", source: "def grade(): ..." },
    ]);
  });
});

it("a preset takes the slots back that were changed, and leaves the updates per step", () => {
  const changed = { algorithm: { preset: "grpo", advantage: { type: "dr_grpo" }, updates_per_step: 2 } };
  expect(withPreset(changed, "dr_grpo").algorithm).toEqual({ preset: "dr_grpo", updates_per_step: 2 });
});

it("another job's specification comes without its metadata and its name", () => {
  expect(fromJob({ spec: { ...full, metadata: { a: "b" }, name: "Sums" } })).toEqual(full);
});

it("another job's tools are in the long form that the editors change", () => {
  const environment = { type: "tools", sources: [{ mcp: "https://a/mcp" }] };
  expect(fromJob({ spec: { ...full, environment } }).environment).toEqual({
    type: "tools",
    sources: [{ type: "mcp", url: "https://a/mcp" }],
  });
});

describe("ownProblems", () => {
  const about = (draft: Draft) => ownProblems(draft, fieldsOf(schema, draft, plain)).map((one) => one.param);
  it("names everything that is missing, and numbers that are none", () => {
    expect(about(EMPTY)).toEqual(["model", "data.dataset", "rewards"]);
    expect(about(full)).toEqual([]);
    expect(about({ ...full, limits: { steps: "ten" } })).toEqual(["limits.steps"]);
    expect(about({ ...full, environment: { type: "tools" } })).toEqual(["environment.sources"]);
  });
});
