import { describe, expect, test } from "vitest";
import type { Field } from "@/lib/spec-fields";
import {
  baseOf,
  EMPTY,
  parseSeeds,
  parseValue,
  placed,
  placeOf,
  type SweepDraft,
  splitNumbers,
  toSweep,
  type Varied,
} from "./draft";
import { fieldGroups, matches } from "./fields";

const field = (path: string, kind: Field["kind"], more: Partial<Field> = {}): Field => ({
  path,
  kind,
  label: path,
  description: "",
  required: false,
  nullable: false,
  value: undefined,
  fallback: undefined,
  options: [],
  bounds: {},
  whole: kind === "integer",
  long: false,
  tags: [],
  ...more,
});
const RATE = "optimizer.learning_rate";
const FIELDS = new Map(
  [
    field("adapter.rank", "integer", { bounds: { minimum: 1, maximum: 512 }, label: "Rank" }),
    field(RATE, "number", { bounds: { exclusiveMinimum: 0 }, label: "Learning rate" }),
    field("algorithm.preset", "choice"),
    field("adapter.targets", "list"),
    field("evaluation.greedy", "boolean"),
  ].map((one) => [one.path, one]),
);
const list = (path: string, ...values: string[]): Varied => ({ path, kind: "list", values, log: false });
const BASE = baseOf({
  id: "ftjob-1",
  name: "sums",
  spec: { name: "sums", model: "tiny", metadata: { team: "a", sweep: "sweep_1", trial: "0" } },
});
const draft = (more: Partial<SweepDraft>): SweepDraft => ({ ...EMPTY, base: BASE, ...more });

describe("a sweep of the form", () => {
  test("has the job without its name, and values as their fields have them", () => {
    const { body, problems } = toSweep(
      draft({
        name: " ranks ",
        varied: [
          list("adapter.rank", "4", "8"),
          list("algorithm.preset", "grpo", "dapo"),
          list("adapter.targets", '["q_proj"]'),
          list("evaluation.greedy", "true", "false"),
        ],
        seeds: "3",
        hours: 1.5,
        jobs: 20,
        halving: true,
      }),
      FIELDS,
    );
    expect(problems).toEqual([]);
    expect(body).toEqual({
      name: "ranks",
      method: "grid",
      parameters: {
        "adapter.rank": [4, 8],
        "algorithm.preset": ["grpo", "dapo"],
        "adapter.targets": [["q_proj"]],
        "evaluation.greedy": [true, false],
      },
      seeds: 3,
      budget: { jobs: 20, seconds: 5400 },
      halving: {},
      job: { model: "tiny", metadata: { team: "a" } },
    });
  });

  test("has a range with points for a grid only, and whole numbers for whole fields", () => {
    const varied: Varied[] = [
      { path: "adapter.rank", kind: "range", values: [], min: 2, max: 64, points: 4, log: true },
    ];
    expect(toSweep(draft({ varied }), FIELDS).body.parameters).toEqual({
      "adapter.rank": { min: 2, max: 64, points: 4, log: true, integer: true },
    });
    const { body } = toSweep(draft({ varied, method: "tpe", trials: 30, seed: 2 }), FIELDS);
    expect(body.parameters).toEqual({ "adapter.rank": { min: 2, max: 64, log: true, integer: true } });
    expect([body.trials, body.seed]).toEqual([30, 2]);
    expect(toSweep(draft({ varied, trials: 30 }), FIELDS).body.trials).toBeUndefined();
  });

  test("of a ladder has one rung per setting, in order", () => {
    const varied = [list(RATE, "0.001"), list("algorithm.preset", "dapo")];
    const { body } = toSweep(draft({ varied, method: "ladder" }), FIELDS);
    expect(body.rungs).toEqual([{ set: { [RATE]: 0.001 } }, { set: { "algorithm.preset": "dapo" } }]);
    expect(body.parameters).toBeUndefined();
  });

  test("of a ladder has settings that are added together in one rung", () => {
    const rank = { ...list("adapter.rank", "8"), joined: true };
    const varied = [rank, list(RATE, "0.001"), { ...list("algorithm.preset", "dapo"), joined: true }];
    const ladder = draft({ varied, method: "ladder" });
    const { body } = toSweep(ladder, FIELDS);
    expect(body.rungs).toEqual([
      { set: { "adapter.rank": 8 } },
      { set: { [RATE]: 0.001, "algorithm.preset": "dapo" } },
    ]);
    const params = ["rungs[1].set.algorithm.preset", "rungs[1]", "rungs[7]"];
    expect(params.map((param) => placeOf(param, ladder))).toEqual([
      "path:algorithm.preset",
      `path:${RATE}`,
      "varied",
    ]);
  });
});

describe("problems", () => {
  const paramsOf = (more: Partial<SweepDraft>) =>
    toSweep(draft(more), FIELDS).problems.map(({ param, missing }) => [param, missing ?? false]);

  test("name their field; what is only missing is marked", () => {
    expect(paramsOf({ method: "tpe" })).toEqual([
      ["varied", true],
      ["trials", true],
    ]);
    expect(paramsOf({ base: null, seeds: "2" })).toEqual([["job", true]]);
    expect(paramsOf({ varied: [list("adapter.rank")] })).toEqual([["parameters.adapter.rank", true]]);
    expect(paramsOf({ varied: [list("adapter.rank", "x", "0")] })).toEqual([
      ["parameters.adapter.rank", false],
      ["parameters.adapter.rank", false],
    ]);
    const range: Varied = { path: RATE, kind: "range", values: [], min: 0, max: "1e", log: true };
    expect(paramsOf({ varied: [range], method: "random", trials: 3 })).toHaveLength(2);
    expect(paramsOf({ method: "ladder" })).toEqual([["varied", true]]);
    expect(paramsOf({ seeds: "a", hours: "two" })).toEqual([
      ["seeds", false],
      ["budget.seconds", false],
    ]);
  });

  test("are only of fields that the form has", () => {
    const varied = [list(RATE, "0.001", "x")];
    expect(paramsOf({ varied, method: "ladder", trials: "many", seed: "x", factor: "half" })).toEqual([]);
    const searching = { method: "random" as const, trials: "many", halving: true, factor: "half" };
    expect(paramsOf({ varied: [list(RATE, "0.001")], ...searching })).toEqual([
      ["trials", false],
      ["halving.factor", false],
    ]);
  });

  test("of the server are placed at the field of the form", () => {
    const varied = [list("rewards[0].weight", "1"), list("adapter.rank", "1")];
    const places = placed(
      [
        { param: "parameters.rewards[0].weight", message: "a" },
        { param: "parameters.adapter.rank.points", message: "b" },
        { param: "job.limits.steps", message: "c" },
        { param: "budget.money", message: "d" },
        { param: "trials", message: "e" },
        { param: null, message: "f" },
        { param: "rungs[1].set.adapter.rank", message: "g" },
      ],
      draft({ varied }),
    );
    expect([...places].map(([place, list]) => [place, list.map(({ message }) => message)])).toEqual([
      ["path:rewards[0].weight", ["a"]],
      ["path:adapter.rank", ["b", "g"]],
      ["job", ["limits.steps: c"]],
      ["budget.money", ["d"]],
      ["trials", ["e"]],
      ["", ["f"]],
    ]);
  });
});

describe("typed text", () => {
  test("is a value of its field", () => {
    expect(parseValue(FIELDS.get(RATE), "1e-4")).toEqual({ value: 1e-4 });
    expect(parseValue(FIELDS.get("adapter.rank"), "2.5")).toHaveProperty("message");
    expect(parseValue(FIELDS.get("adapter.targets"), "q_proj")).toHaveProperty("message");
    expect(parseValue(field("x", "text", { nullable: true }), "null")).toEqual({ value: null });
    expect(
      parseValue(field("x", "word_or_number", { options: [{ value: "auto", description: "" }] }), "auto"),
    ).toEqual({ value: "auto" });
  });

  test("of several numbers is split", () => {
    expect(splitNumbers(["4, 8,", "16", "8"])).toEqual(["4", "8", "16"]);
  });

  test("is a number of seeds or the seeds", () => {
    expect(parseSeeds(" ")).toBeUndefined();
    expect(parseSeeds("3")).toBe(3);
    expect(parseSeeds("3,")).toEqual([3]);
    expect(parseSeeds("1, 5 9")).toEqual([1, 5, 9]);
    expect(parseSeeds("-1")).toHaveProperty("message");
  });
});

test("fields are found by name, path and description, and not offered twice", () => {
  const groups = fieldGroups(FIELDS, new Set(["adapter.rank"]));
  expect(groups.map(({ group, items }) => [group, items.length])).toEqual([
    ["Optimizer", 1],
    ["Algorithm", 1],
    ["Adapter", 1],
    ["Evaluation", 1],
  ]);
  expect(matches(FIELDS.get(RATE), RATE, "learning opt")).toBe(true);
  expect(matches(FIELDS.get(RATE), RATE, "rank")).toBe(false);
});
