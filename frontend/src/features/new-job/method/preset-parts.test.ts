import { describe, expect, it } from "vitest";
import type { Preset } from "@/api/job-form";
import jobSpec from "@/lib/fixtures/job-spec.json";
import type { JsonObject } from "@/lib/paths";
import { defaultOf, type JsonSchema, merge } from "@/lib/spec-schema";
import {
  filled,
  firstSentence,
  recipeLines,
  searched,
  usesRecipe,
  withoutRecipe,
  withRecipe,
} from "./preset-parts";

const schema = jobSpec as unknown as JsonSchema;
const plain = defaultOf(schema, schema) as JsonObject;
const preset = (id: string, more: Partial<Preset>) =>
  ({ id, title: id, family: "baselines", summary: "", source: "", needs: [], job: {}, ...more }) as Preset;

describe("searched", () => {
  const presets = [
    preset("mine", { family: "own" }),
    preset("dapo", { family: "objectives", title: "DAPO", summary: "For long answers." }),
    preset("grpo", { title: "GRPO", source: "Shao et al. 2024" }),
    preset("dr_grpo", { title: "Dr. GRPO", summary: "Against long wrong answers." }),
  ];
  const ids = (query: string) =>
    searched(presets, query).map(({ id, presets }) => [id, presets.map((one) => one.id)]);

  it("groups by family in a fixed order, unknown families last", () => {
    expect(ids("")).toEqual([
      ["baselines", ["grpo", "dr_grpo"]],
      ["objectives", ["dapo"]],
      ["own", ["mine"]],
    ]);
  });

  it("names the family of presets that installed packages bring", () => {
    expect(searched(presets, "mine")[0]?.title).toBe("Plugins installed on the server");
  });

  it("finds every word wherever it stands", () => {
    expect(ids("LONG answers")).toEqual([
      ["baselines", ["dr_grpo"]],
      ["objectives", ["dapo"]],
    ]);
    expect(ids("shao 2024")).toEqual([["baselines", ["grpo"]]]);
    expect(ids("zebra")).toEqual([]);
  });
});

describe("filled", () => {
  const of = (over: JsonObject, job: JsonObject = {}) =>
    filled(schema, plain, {
      algorithm: merge(merge(plain.algorithm, { preset: "x" }), over) as JsonObject,
      job,
    });

  it("names parts and what they are set to, and nothing for the defaults", () => {
    expect(of({})).toEqual([]);
    expect(
      of({ loss: { surrogate: { type: "ppo_clip", eps_high: 0.28 }, aggregation: { type: "constant" } } }),
    ).toEqual([
      { part: "loss.surrogate", text: "eps_high 0.28" },
      { part: "loss.aggregation", text: "constant" },
    ]);
  });

  it("names what is filled outside of the slots", () => {
    expect(of({}, { rollout: { completions_per_prompt: 2 } })).toEqual([
      { part: "rollout", text: "completions_per_prompt 2" },
    ]);
  });
});

describe("recipe", () => {
  const recipe = { rollout: { completions_per_prompt: 16 }, optimizer: { learning_rate: 1e-6 } };
  const draft = { model: "m", rollout: { completions_per_prompt: 4, top_p: 0.9 } };

  it("is taken over what was typed, and taken out again", () => {
    const taken = withRecipe(draft, recipe);
    expect(taken).toEqual({
      model: "m",
      rollout: { completions_per_prompt: 16, top_p: 0.9 },
      optimizer: { learning_rate: 1e-6 },
    });
    expect([usesRecipe(draft, recipe), usesRecipe(taken, recipe), usesRecipe(taken, {})]).toEqual([
      false,
      true,
      false,
    ]);
    expect(withoutRecipe(taken, recipe)).toEqual({ model: "m", rollout: { top_p: 0.9 } });
  });

  it("shows numbers, not the names of parts", () => {
    expect(recipeLines({ algorithm: { selection: { type: "gfpo", keep: 4 } } })).toEqual([
      ["algorithm.selection.keep", 4],
    ]);
  });
});

it("takes the first sentence, whatever points stand in it", () => {
  expect(firstSentence("Pulls at 0.5 and 1.28. Choose it.")).toBe("Pulls at 0.5 and 1.28.");
  expect(firstSentence("No end")).toBe("No end");
});
