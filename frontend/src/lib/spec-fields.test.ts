import { describe, expect, it } from "vitest";
import jobSpec from "./fixtures/job-spec.json";
import type { JsonObject } from "./paths";
import { assign, complaint, type Field, fieldsOf, label, range } from "./spec-fields";
import { defaultOf, type JsonSchema } from "./spec-schema";

const root = jobSpec as unknown as JsonSchema;
const base = defaultOf(root, root) as JsonObject;
const SPEC: JsonObject = {
  environment: { type: "tools", sources: [{ type: "python" }] },
  rewards: [{ type: "python", weight: 2 }, {}],
};
const fields = (spec: JsonObject = SPEC) => fieldsOf(root, spec, base);
const field = (path: string, spec: JsonObject = SPEC) =>
  fields(spec).find((one) => one.path === path) as Field;

/** Parts inside of a map or a list of messages, which the form edits as JSON. */
const INSIDE_JSON = [
  "Audio",
  "AudioPart",
  "Gate",
  "ImagePart",
  "Judge",
  "Message",
  "TextPart",
  "ToolFunction",
  "ToolSchema",
];

/** Every property that the schema defines, by class, so that none can be forgotten. */
const properties = [
  root,
  ...Object.entries(root.$defs ?? {}).flatMap(([name, node]) => (INSIDE_JSON.includes(name) ? [] : [node])),
].flatMap((node) => Object.keys(node.properties ?? {}));

/** The paths of all fields, with every variant of every part chosen once. */
function reachable(spec: JsonObject, chosen = new Set<string>()): string[] {
  return fields(spec).flatMap((one) => {
    const unseen = one.kind === "variant" ? one.options.filter((o) => !chosen.has(one.path + o.value)) : [];
    return [
      one.path,
      ...unseen.flatMap(({ value }) => {
        chosen.add(one.path + value);
        return reachable(assign(spec, one, value), chosen);
      }),
    ];
  });
}

/** The schema as a server sends it that has a package with an advantage of its own. */
function withOwnAdvantage(): JsonSchema {
  const schema = structuredClone(root);
  const defs = schema.$defs as Record<string, JsonSchema>;
  const advantage = defs.Algorithm?.properties?.advantage as JsonSchema;
  advantage.oneOf?.push({ $ref: "#/$defs/CentredRank" });
  (advantage.discriminator as { mapping: Record<string, string> }).mapping.centred_rank =
    "#/$defs/CentredRank";
  defs.CentredRank = {
    type: "object",
    description: "A_i by rank.",
    properties: {
      type: { const: "centred_rank", default: "centred_rank", type: "string" },
      power: { type: "number", default: 1, exclusiveMinimum: 0, maximum: 10, description: "Of the ranks." },
    },
  };
  return schema;
}

describe("fieldsOf", () => {
  it("shows what an installed package adds, as it stands in the server's schema", () => {
    const schema = withOwnAdvantage();
    const spec: JsonObject = { algorithm: { advantage: { type: "centred_rank" } } };
    const fieldList = fieldsOf(schema, spec, defaultOf(schema, schema) as JsonObject);
    const choice = fieldList.find((one) => one.path === "algorithm.advantage");
    expect(choice?.options.at(-1)).toEqual({ value: "centred_rank", description: "A_i by rank." });
    const power = fieldList.find((one) => one.path === "algorithm.advantage.power") as Field;
    expect(power).toMatchObject({ kind: "number", fallback: 1, description: "Of the ranks." });
    expect(range(power)).toBe("above 0, at most 10");
    expect(complaint({ ...power, value: 11 })).toBe("Allowed range: above 0, at most 10.");
    expect(assign(spec, power, 2)).toEqual({ algorithm: { advantage: { type: "centred_rank", power: 2 } } });
  });

  it("has a field for every property of every part", () => {
    const names = new Set(reachable(SPEC).flatMap((path) => path.split(/[.[\]]+/)));
    // A tag is the field of its part, the parts themselves are headings, and the server lists an MCP server's tools.
    const without = ["type", "tools"];
    expect(properties.filter((name) => !without.includes(name) && !names.has(name))).toEqual([]);
    expect(new Set(fields().map((one) => one.path)).size).toBe(fields().length);
  });

  it("tells kind, bounds, default and what is given", () => {
    expect(field("rollout.top_p")).toMatchObject({ kind: "number", fallback: 1, value: undefined });
    expect(range(field("rollout.top_p"))).toBe("above 0, at most 1");
    expect(field("limits.max_seconds")).toMatchObject({ kind: "number", nullable: true, fallback: null });
    expect(field("data.sampling").options.map((one) => one.value)).toEqual([
      "shuffle",
      "in_order",
      "frontier",
    ]);
    expect(field("optimizer.betas")).toMatchObject({ kind: "tuple", fallback: [0.9, 0.999] });
    expect(field("adapter.targets")).toMatchObject({ kind: "word_or_list", fallback: "all-linear" });
    const rate = field("optimizer.learning_rate");
    expect(rate).toMatchObject({ kind: "word_or_number", fallback: "auto" });
    expect(range(rate)).toBe("above 0, at most 1");
    expect(field("adapter.dropout").kind).toBe("fixed");
    expect(field("rewards[0].weight")).toMatchObject({ value: 2, fallback: 1 });
    expect(field("model").required).toBe(true);
    expect(field("metadata").kind).toBe("map");
  });

  it("shows the fields of the variant that is chosen, with that variant's defaults", () => {
    const paths = (spec: JsonObject) =>
      fields(spec)
        .map((one) => one.path)
        .filter((path) => path.startsWith("algorithm.loss.aggregation"));
    expect(paths({})).toEqual(["algorithm.loss.aggregation"]);
    const constant = { algorithm: { loss: { aggregation: { type: "constant" } } } };
    expect(paths(constant)).toEqual(["algorithm.loss.aggregation", "algorithm.loss.aggregation.length"]);
    expect(field("algorithm.loss.aggregation.length", constant).fallback).toBeNull();
    const types = field("algorithm.loss.aggregation").options.map((one) => one.value);
    expect(types).toEqual(expect.arrayContaining(["seq_mean", "token_mean", "constant"]));
  });
});

describe("assign", () => {
  it("puts the tag beside a value of a tagged part, which the server asks for", () => {
    const next = assign({}, field("algorithm.loss.surrogate.eps_high"), 0.28);
    expect(next).toEqual({ algorithm: { loss: { surrogate: { type: "ppo_clip", eps_high: 0.28 } } } });
  });

  it("drops the fields of the old variant", () => {
    const spec = { algorithm: { advantage: { type: "grpo", eps: 0.1 } } };
    expect(assign(spec, field("algorithm.advantage"), "dr_grpo")).toEqual({
      algorithm: { advantage: { type: "dr_grpo" } },
    });
    expect(assign(spec, field("algorithm.advantage"), undefined)).toEqual({});
  });

  it("goes back to the default without leaving an empty part", () => {
    expect(assign({ rollout: { top_p: 0.5 } }, field("rollout.top_p"), undefined)).toEqual({});
  });
});

describe("complaint", () => {
  const about = (path: string, value: string | number | number[]) => {
    return complaint({ ...field(path), value });
  };
  it("takes a number or the word where both are allowed", () => {
    expect(about("optimizer.learning_rate", "auto")).toBeNull();
    expect(about("optimizer.learning_rate", "fast")).toBe("Type a number, or auto.");
    expect(about("optimizer.learning_rate", 2)).toBe("Allowed range: above 0, at most 1.");
  });
  it("is about numbers and their bounds", () => {
    expect(about("limits.steps", "ten")).toBe("Not a number.");
    expect(about("limits.steps", 1.5)).toBe("Enter a whole number.");
    expect(about("rollout.completions_per_prompt", 0)).toBe("Allowed range: 1 to 1024.");
    expect(about("optimizer.betas", [0.9, 1])).toBe("Allowed range: at least 0, below 1.");
    expect(about("optimizer.learning_rate", 1e-4)).toBeNull();
  });
});

it("names fields in words", () => {
  expect(label("rollout.max_prompt_tokens")).toBe("Max prompt tokens");
  expect(label("algorithm.loss.kl")).toBe("KL");
  expect(label("rewards[0]")).toBe("Rewards");
});
