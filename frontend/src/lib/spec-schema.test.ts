import { describe, expect, it } from "vitest";
import jobSpec from "./fixtures/job-spec.json";
import type { JsonObject } from "./paths";
import {
  defaultOf,
  defaults,
  type JsonSchema,
  merge,
  ordered,
  type Presets,
  pruned,
  resolve,
} from "./spec-schema";

const root = jobSpec as unknown as JsonSchema;
const plain = defaultOf(root, root) as JsonObject;
const grpo = plain.algorithm as JsonObject;
const PRESETS: Presets = {
  grpo: { algorithm: grpo },
  grpo_2: { algorithm: grpo, rollout: { completions_per_prompt: 2 } },
  dr_grpo: {
    algorithm: merge(grpo, {
      preset: "dr_grpo",
      advantage: { type: "dr_grpo" },
      loss: { aggregation: { type: "constant", length: null } },
    }) as JsonObject,
  },
};
const SPEC = { model: "m", data: { dataset: "file-1" }, rewards: [{ type: "python", reward: "rew_1" }] };
const prune = (more: JsonObject) => pruned(root, PRESETS, { ...SPEC, ...more });

describe("resolve", () => {
  it("follows references and takes null out", () => {
    expect(resolve(root.properties?.adapter ?? {}, root).properties?.rank?.default).toBe(16);
    const name = resolve(root.properties?.name ?? {}, root);
    expect([name.type, name.nullable, name.maxLength]).toEqual(["string", true, 200]);
  });
});

describe("defaults", () => {
  it("has every default, nested ones too", () => {
    expect(plain).toMatchObject({
      seed: 0,
      data: { sampling: "shuffle" },
      optimizer: { learning_rate: "auto" },
    });
    expect(plain).not.toHaveProperty("model");
  });

  it("starts from the preset that is named", () => {
    const named = defaults(root, PRESETS, { algorithm: { preset: "dr_grpo" } });
    expect(named).toMatchObject({ algorithm: { advantage: { type: "dr_grpo" }, updates_per_step: 1 } });
    expect(defaults(root, PRESETS, { algorithm: { preset: null } })).toMatchObject({
      algorithm: { preset: null, advantage: { type: "grpo" } },
    });
  });
});

describe("pruned", () => {
  it("leaves out what says the default", () => {
    const all = merge(plain, SPEC) as JsonObject;
    expect(pruned(root, PRESETS, all)).toEqual(SPEC);
    expect(prune({ rollout: { top_p: 1, temperature: 0.7 }, adapter: { type: "lora", rank: 16 } })).toEqual({
      ...SPEC,
      rollout: { temperature: 0.7 },
    });
  });

  it("keeps the tag of a part that differs, and drops a tag alone", () => {
    expect(
      prune({ algorithm: { loss: { surrogate: { type: "ppo_clip", eps_high: 0.28 } } } }).algorithm,
    ).toEqual({
      loss: { surrogate: { type: "ppo_clip", eps_high: 0.28 } },
    });
    expect(prune({ algorithm: { loss: { surrogate: { type: "ppo_clip" } } } })).toEqual(SPEC);
    expect(prune({ algorithm: { advantage: { type: "dr_grpo" } } }).algorithm).toEqual({
      advantage: { type: "dr_grpo" },
    });
  });

  it("measures the slots against the preset that is named", () => {
    expect(prune(PRESETS.dr_grpo as JsonObject).algorithm).toEqual({ preset: "dr_grpo" });
    expect(
      prune({ algorithm: { preset: "dr_grpo", advantage: { type: "grpo", eps: 1e-4 } } }).algorithm,
    ).toEqual({
      preset: "dr_grpo",
      advantage: { type: "grpo" },
    });
    expect(prune({ algorithm: { preset: "grpo" } })).toEqual(SPEC);
  });

  it("measures against what the preset fills outside of its slots", () => {
    const two = (completions_per_prompt: number) =>
      prune({ algorithm: { preset: "grpo_2" }, rollout: { completions_per_prompt } }).rollout;
    expect([two(2), two(8)]).toEqual([undefined, { completions_per_prompt: 8 }]);
  });

  it("compares lists whole and rewards field by field", () => {
    expect(prune({ optimizer: { betas: [0.9, 0.999] }, rollout: { stop: [] } })).toEqual(SPEC);
    const rewards = [{ type: "python", reward: "rew_1", weight: 1, on_error: "pause", path: null }];
    expect(prune({ rewards }).rewards).toEqual([{ type: "python", reward: "rew_1", on_error: "pause" }]);
  });

  it("writes in the schema's order", () => {
    const { rewards, ...rest } = SPEC;
    const keys = Object.keys(pruned(root, PRESETS, { limits: { steps: 5 }, rewards, name: "n", ...rest }));
    expect(keys).toEqual(["name", "model", "data", "rewards", "limits"]);
  });

  it("keeps what the schema does not know: the server says what is wrong with it", () => {
    expect(prune({ bogus: 1 })).toEqual({ ...SPEC, bogus: 1 });
  });
});

it("puts keys of all depths into the schema's order, and keeps every value", () => {
  const mixed = {
    bogus: 1,
    optimizer: { betas: [0.9, 0.95], learning_rate: 1 },
    rewards: [{ weight: 2, name: "a", type: "python" }],
    model: "m",
    algorithm: { loss: { surrogate: { eps_high: 1, type: "ppo_clip" } } },
  };
  expect(ordered(root, mixed)).toEqual(mixed);
  expect(JSON.stringify(ordered(root, mixed))).toBe(
    '{"model":"m","rewards":[{"type":"python","name":"a","weight":2}],' +
      '"algorithm":{"loss":{"surrogate":{"type":"ppo_clip","eps_high":1}}},' +
      '"optimizer":{"learning_rate":1,"betas":[0.9,0.95]},"bogus":1}',
  );
});
