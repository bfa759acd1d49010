import { expect, it } from "vitest";
import { toYaml, yamlLines } from "./yaml";

it("writes nested mappings and lists", () => {
  const spec = {
    model: "starter-arith",
    rewards: [{ type: "python", weight: 1 }],
    stop: [],
    betas: [0.9, 0.999],
  };
  expect(toYaml(spec)).toBe(
    "model: starter-arith\nrewards:\n  - type: python\n    weight: 1\nstop: []\nbetas:\n  - 0.9\n  - 0.999\n",
  );
});

it("quotes what YAML would read as something else", () => {
  expect(toYaml({ a: "yes", b: "1", c: "x: y", d: "", e: null, f: true })).toBe(
    'a: "yes"\nb: "1"\nc: "x: y"\nd: ""\ne: null\nf: true\n',
  );
});

it("keeps source code as a block", () => {
  expect(toYaml({ source: "def f():\n    return 1\n" })).toBe("source: |\n  def f():\n      return 1\n");
});

it("quotes what a block would change, and keys like values", () => {
  expect(toYaml({ a: "x\r\ny", b: "x\n\n", c: " x\ny", d: "\u2028\n", "e f": "no", yes: 1 })).toBe(
    'a: "x\\r\\ny"\nb: "x\\n\\n"\nc: " x\\ny"\nd: "\\u2028\\n"\n"e f": "no"\n"yes": 1\n',
  );
});

it("writes exponents so that YAML 1.1 reads a number", () => {
  expect(toYaml({ eps: 1e-8, learning_rate: 6e-4 })).toBe("eps: 1.0e-8\nlearning_rate: 0.0006\n");
});

it("tells the path of every line", () => {
  const spec = { data: { dataset: "f" }, rewards: [{ name: "a", weight: 2 }], betas: [0.9] };
  expect(yamlLines(spec).map((line) => line.path)).toEqual([
    "data",
    "data.dataset",
    "rewards",
    "rewards[0].name",
    "rewards[0].weight",
    "betas",
    "betas[0]",
  ]);
});
