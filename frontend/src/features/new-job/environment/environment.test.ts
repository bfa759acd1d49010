import { describe, expect, it } from "vitest";
import jobSpec from "@/lib/fixtures/job-spec.json";
import type { JsonObject } from "@/lib/paths";
import { defaultOf, type JsonSchema } from "@/lib/spec-schema";
import { type Basis, toSpec } from "../draft";
import {
  addSource,
  argumentsText,
  changeSource,
  kindOf,
  parametersOf,
  removeSource,
  sourcesOf,
  typeOf,
  withType,
} from "./environment";

const schema = jobSpec as unknown as JsonSchema;
const plain = defaultOf(schema, schema) as JsonObject;
const basis: Basis = {
  schema,
  presets: [],
  algorithms: { grpo: { algorithm: plain.algorithm as JsonObject } },
};

describe("the environment of a draft", () => {
  it("is one turn until another one is chosen, and then has a source to begin with", () => {
    expect(typeOf({})).toBe("single_turn");
    const tools = withType({ model: "tiny" }, "tools");
    expect([typeOf(tools), sourcesOf(tools).length]).toEqual(["tools", 1]);
    expect(withType(tools, "tools")).toBe(tools);
    expect(withType(tools, "single_turn")).toEqual({ model: "tiny" });
  });

  it("keeps only what differs from the defaults", () => {
    const draft = withType({ model: "tiny" }, "tools");
    const tools = { ...draft, environment: { ...(draft.environment as JsonObject), max_turns: 8 } };
    expect(toSpec(basis, changeSource(tools, 0, { source: "x", timeout_seconds: 2 }))).toEqual({
      model: "tiny",
      environment: { type: "tools", sources: [{ type: "python", source: "x" }] },
    });
    const agent = withType({}, "agent");
    expect(toSpec(basis, agent).environment).toEqual({ type: "agent" });
  });

  it("reads sources of job files and of forks", () => {
    const sources: JsonObject[] = [{ mcp: "https://a/mcp" }, { type: "python", source: "x", path: null }];
    const draft = { environment: { type: "tools", sources } };
    expect(sourcesOf(draft)).toEqual([
      { type: "mcp", url: "https://a/mcp" },
      { type: "python", source: "x" },
    ]);
    const other = changeSource(addSource(removeSource(draft, 0), "mcp"), 1, { url: "https://b/mcp" });
    expect(sourcesOf(other).map(({ type }) => type)).toEqual(["python", "mcp"]);
  });

  it("forgets the tools of a server whose address changes", () => {
    const sources = [{ type: "mcp", url: "https://a/mcp", tools: [] }];
    const draft = changeSource({ environment: { type: "tools", sources } }, 0, { url: "https://b/mcp" });
    expect(sourcesOf(draft)).toEqual([{ type: "mcp", url: "https://b/mcp" }]);
  });

  it("knows an environment class by its reset", () => {
    expect(kindOf("class Game:\n    def reset(self):\n        pass\n")).toBe("class");
    expect(kindOf("class Point:\n    x = 1\n\ndef reset(self):\n    pass\n")).toBe("python");
  });
});

describe("the arguments of a call", () => {
  const parameters = parametersOf({
    properties: {
      text: { type: "string" },
      count: { type: "integer", default: 1, description: "How many." },
      place: { enum: ["a", "b"] },
      whole: { anyOf: [{ type: "boolean" }, { type: "null" }] },
      tags: { type: "array" },
    },
    required: ["text", "count"],
  });

  it("have a control by their type", () => {
    expect(parameters.map(({ kind }) => kind)).toEqual(["text", "number", "choice", "boolean", "json"]);
    expect(parameters[1]).toMatchObject({
      placeholder: "default 1",
      required: true,
      description: "How many.",
    });
  });

  it("are JSON of what was typed, and wrong values stay wrong", () => {
    const all = { text: "1", count: "2", place: "b", whole: "true", tags: '["x"]' };
    expect(argumentsText(parameters, all)).toBe(
      '{"text":"1","count":2,"place":"b","whole":true,"tags":["x"]}',
    );
    expect(argumentsText(parameters, { count: "two", tags: "[" })).toBe(
      '{"text":"","count":"two","tags":"["}',
    );
    expect(parametersOf(undefined)).toEqual([]);
  });
});
