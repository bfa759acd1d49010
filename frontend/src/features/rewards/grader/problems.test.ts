import { expect, it } from "vitest";
import { at, messageOf, strays, under } from "./problems";

const one = (field: string | null, message = "is wrong") => ({ field, message });
const ALL = [one("input"), one("input[0].content"), one("inputs"), one("graders.a.b"), one(null)];
const fields = (problems: readonly { field?: string | null }[]) => problems.map(({ field }) => field);

it("finds what is said of a field, of what is in it, and of nothing", () => {
  expect(fields(at(ALL, "input"))).toEqual(["input"]);
  expect(fields(under(ALL, "input"))).toEqual(["input", "input[0].content"]);
  expect(fields(at(ALL, ""))).toEqual([null]);
});

it("finds keys that an object does not know", () => {
  expect(fields(strays(ALL, "", ["input", "graders"]))).toEqual(["inputs"]);
  expect(fields(strays(ALL, "graders.a", ["input"]))).toEqual(["graders.a.b"]);
});

it("leaves the field out of words that stand beside it", () => {
  expect(messageOf(one("input", "input: Field required"))).toBe("Required.");
  expect(messageOf(one("a.hue", "a.hue: Extra inputs are not permitted"))).toBe("Unknown field hue.");
  expect(messageOf(one("a.b", "a.b: it is wrong"))).toBe("It is wrong");
});
