import { expect, it } from "vitest";
import { getAt, parent, parts, same, setAt, unsetAt } from "./paths";

const spec = { model: "m", rewards: [{ name: "a" }, { name: "b" }], loss: { kl: { beta: 1 } } };

it("reads and takes paths apart", () => {
  expect(parts("rewards[1].name")).toEqual(["rewards", 1, "name"]);
  expect(getAt(spec, "rewards[1].name")).toBe("b");
  expect(getAt(spec, "rewards[2].name")).toBeUndefined();
  expect(["rewards[1].name", "rewards[1]", "rewards"].map(parent)).toEqual(["rewards[1]", "rewards", ""]);
});

it("sets without touching the old value", () => {
  expect(setAt(spec, "rewards[1].weight", 2).rewards[1]).toEqual({ name: "b", weight: 2 });
  expect(setAt({}, "a.b", 1)).toEqual({ a: { b: 1 } });
  expect(spec.rewards[1]).toEqual({ name: "b" });
});

it("unsets with the parts that this leaves empty, and closes up lists", () => {
  expect(unsetAt(spec, "loss.kl.beta")).toEqual({ model: "m", rewards: spec.rewards });
  expect(unsetAt(spec, "rewards[0]").rewards).toEqual([{ name: "b" }]);
  expect(unsetAt(spec, "rewards[0].name").rewards).toEqual([{}, { name: "b" }]);
  expect(unsetAt(spec, "not.there")).toEqual(spec);
});

it("compares whatever the order of keys", () => {
  expect(same({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true);
  expect(same({ a: 1 }, { a: 1, b: null })).toBe(false);
  expect(same([1, 2], [1])).toBe(false);
});
