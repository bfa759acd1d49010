import { describe, expect, it } from "vitest";
import { defaultExpectation, expectationText, readExpectation } from "./expectation";

const DRAFT = { kind: "value", value: "1", least: "", most: "", above: "" } as const;

describe("default expectation", () => {
  it("is what the reward says now", () => {
    expect(defaultExpectation(0.1 + 0.2)).toMatchObject({ kind: "value", value: "0.3" });
    expect(readExpectation(defaultExpectation(0))).toEqual({ expect: { value: 0 } });
  });

  it("puts a range on the side of the value", () => {
    expect(defaultExpectation(1)).toMatchObject({ least: "1", most: "" });
    expect(defaultExpectation(0)).toMatchObject({ least: "", most: "0" });
  });

  it("orders it above the best completion that gets less", () => {
    const rivals = [
      { text: "worst", value: 0 },
      { text: "close", value: 0.5 },
      { text: "better", value: 2 },
      { text: "failed", value: null },
    ];
    expect(defaultExpectation(1, { rivals }).above).toBe("close");
    expect(defaultExpectation(0, { rivals }).above).toBe("worst");
    expect(defaultExpectation(1).above).toBe("");
  });

  it("expects no reward only where it does not apply", () => {
    expect(defaultExpectation(null, { applies: false }).kind).toBe("nothing");
    expect(defaultExpectation(null)).toMatchObject({ kind: "value", value: "" });
  });
});

describe("reading the form", () => {
  it("takes numbers as people write them", () => {
    expect(readExpectation({ ...DRAFT, value: " −0,5 " })).toEqual({ expect: { value: -0.5 } });
    expect(readExpectation({ ...DRAFT, value: "one" })).toHaveProperty("fault");
    expect(readExpectation({ ...DRAFT, value: "" })).toHaveProperty("fault");
  });

  it("takes one end of a range, or two in order", () => {
    const range = { ...DRAFT, kind: "range" } as const;
    expect(readExpectation({ ...range, least: "0.5" })).toEqual({ expect: { least: 0.5 } });
    expect(readExpectation({ ...range, least: "0", most: "1" })).toEqual({ expect: { least: 0, most: 1 } });
    expect(readExpectation({ ...range, least: "1", most: "0" })).toHaveProperty("fault");
    expect(readExpectation({ ...range, least: "x", most: "0" })).toHaveProperty("fault");
    expect(readExpectation(range)).toHaveProperty("fault");
  });

  it("takes an ordering above an empty completion", () => {
    expect(readExpectation({ ...DRAFT, kind: "above" })).toEqual({ expect: { above: "" } });
    expect(readExpectation({ ...DRAFT, kind: "nothing" })).toEqual({ expect: { not_applicable: true } });
  });
});

it("says what is expected", () => {
  expect(expectationText({ value: 1, tolerance: 1e-6, not_applicable: false })).toBe("1");
  expect(expectationText({ least: 0.2, most: 0.8 })).toBe("from 0.2 to 0.8");
  expect(expectationText({ least: 0.5, value: null })).toBe("at least 0.5");
  expect(expectationText({ most: 0 })).toBe("at most 0");
  expect(expectationText({ above: "" })).toBe("higher than the other completion");
  expect(expectationText({ not_applicable: true })).toBe("no reward (does not apply)");
});
