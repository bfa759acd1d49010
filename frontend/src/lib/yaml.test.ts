import { expect, it } from "vitest";
import { toYaml } from "./yaml";

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
