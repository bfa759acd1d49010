import { describe, expect, it } from "vitest";
import type { Field } from "@/lib/spec-fields";
import { fromLines, parseNumber, toLines, valueText } from "@/lib/spec-values";
import { grouped, search } from "../sections/advanced";
import { checkWarnings, summaryLines } from "./summary-lines";

describe("values in text fields", () => {
  it("shows small numbers with an exponent and reads what people type", () => {
    expect([1e-5, 6e-4, 0.001, 0, 56, null, ["a", "b"]].map((one) => valueText(one))).toEqual([
      "1e-5",
      "6e-4",
      "0.001",
      "0",
      "56",
      "",
      "a, b",
    ]);
    expect(["2e-4", " 5 ", "0,5", "", "ten", "1e-"].map(parseNumber)).toEqual([
      2e-4,
      5,
      0.5,
      undefined,
      "ten",
      "1e-",
    ]);
  });

  it("writes notes one per line", () => {
    expect(fromLines("a: b: c\n\nteam:x\nhalf")).toEqual({ a: "b: c", team: "x", half: "" });
    expect(toLines({ a: "b", c: "d" })).toBe("a: b\nc: d");
    expect(fromLines(" \n")).toBeUndefined();
  });
});

const field = (path: string, description = "") => ({ path, label: path, description }) as Field;

describe("Advanced", () => {
  const fields = [
    field("model"),
    field("rewards[0].weight"),
    field("optimizer.eps", "Keeps from 0"),
    field("seed"),
  ];
  it("finds every word of a search in path or explanation", () => {
    expect(search(fields, "eps keeps").map((one) => one.path)).toEqual(["optimizer.eps"]);
    expect(search(fields, "")).toHaveLength(4);
  });

  it("groups by part, the job's own fields first, rewards by name", () => {
    const groups = grouped(fields, ["correct"]);
    expect(groups.map((group) => group.title)).toEqual(["Job", "Reward “correct”", "Optimizer"]);
    expect(groups[0]?.fields.map((one) => one.path)).toEqual(["model", "seed"]);
  });
});

describe("summaryLines", () => {
  const sizes = { rows: 512, steps: 60, prompts: 16, completions: 8 };
  const line = (name: string, facts: object) =>
    summaryLines({ ...sizes, facts }).find((one) => one.name === name);
  it("counts by itself until the server has", () => {
    expect(line("Total completions", {})?.text).toContain("7");
    expect(line("Training rows", {})?.text).toContain("total");
    expect(line("Training rows", { training_rows: 448 })?.text).toBe("448");
  });

  it("marks a prompt that is longer than the limit", () => {
    expect(line("Longest prompt", { longest_prompt_tokens: 600, prompt_limit: 456 })?.bad).toBe(true);
    expect(line("Longest prompt", { longest_prompt_tokens: 12, prompt_limit: 456 })?.bad).toBe(false);
  });
});

describe("checkWarnings", () => {
  it("takes advice about numbers from the check that got them, and the worker's own from the other", () => {
    const base = { ok: true, problems: [], facts: {} };
    const quick = { ...base, warnings: ["300 steps see each row about 89 times."], worker_warnings: [] };
    const full = {
      ...base,
      warnings: ["100 steps see each row about 30 times.", "2 prompts are in both splits."],
      worker_warnings: ["2 prompts are in both splits."],
    };
    expect(checkWarnings(quick, full)).toEqual([quick.warnings[0], full.worker_warnings[0]]);
  });
});
