import { describe, expect, it } from "vitest";
import jobSpec from "@/lib/fixtures/job-spec.json";
import type { JsonObject } from "@/lib/paths";
import { defaultOf, type JsonSchema, merge } from "@/lib/spec-schema";
import { flat, markedLines } from "./config-lines";

const schema = jobSpec as unknown as JsonSchema;
const plain = defaultOf(schema, schema) as JsonObject;
const basis = { schema, presets: { grpo: { algorithm: plain.algorithm as JsonObject } } };
const submitted: JsonObject = {
  model: "m",
  data: { dataset: "file-1" },
  rewards: [{ type: "python", reward: "rew_1", weight: 1 }],
  adapter: { rank: 8 },
  optimizer: { betas: [0.9, 0.95] },
};
const resolved = merge(merge(plain, submitted), { adapter: { alpha: 16 } }) as JsonObject;
const line = (text: string, all = markedLines(resolved, submitted, basis)) =>
  all.find((one) => one.text.trim() === text);

describe("markedLines", () => {
  it("tells what was set from what the server found, and what the default is", () => {
    expect(line("rank: 8")).toMatchObject({ mark: "given", was: "16" });
    expect(line("alpha: 16")).toMatchObject({ mark: "filled", was: "null" });
    expect(line("seed: 0")).toMatchObject({ mark: null, was: null });
    expect(line("model: m")).toMatchObject({ mark: "given", was: null });
    expect(line("weight: 1")?.mark).toBeNull();
  });

  it("marks a number that stands for `auto` as found by the server", () => {
    const number = merge(resolved, { optimizer: { learning_rate: 6.25e-4 } }) as JsonObject;
    for (const learning_rate of [undefined, "auto", 6.25e-4]) {
      const optimizer = learning_rate === undefined ? {} : { learning_rate };
      const all = markedLines(number, { ...submitted, optimizer } as JsonObject, basis);
      expect(line("learning_rate: 0.000625", all)).toMatchObject({
        mark: learning_rate === 6.25e-4 ? "given" : "filled",
        was: '"auto"',
      });
    }
  });

  it("marks a list with its items", () => {
    expect(line("betas:")).toMatchObject({ mark: "given", was: "[0.9,0.999]" });
    expect(line("- 0.95")).toMatchObject({ mark: "given", was: null });
  });

  it("marks nothing while the schema is not there", () => {
    expect(markedLines(resolved, submitted, undefined).every((one) => one.mark === null)).toBe(true);
  });
});

it("writes nested facts as rows", () => {
  expect(flat({ device: "cpu", versions: { torch: "2.13" }, threads: 1 })).toEqual([
    ["device", "cpu"],
    ["versions.torch", "2.13"],
    ["threads", "1"],
  ]);
});
