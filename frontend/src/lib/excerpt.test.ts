import { describe, expect, it } from "vitest";
import { markFault } from "./excerpt";

describe("markFault", () => {
  it("cuts the line at the faulty character", () => {
    expect(markFault('{"a":2,"b" 3}', 11)).toEqual(['{"a":2,"b" ', "3", "}"]);
  });

  it("counts characters, not UTF-16 units", () => {
    expect(markFault("😀x", 1)).toEqual(["😀", "x", ""]);
  });

  it("shows a blank where something is missing at the end, and where the fault is a blank", () => {
    expect(markFault('{"a":', 5)).toEqual(['{"a":', "␣", ""]);
    expect(markFault("a b", 1)).toEqual(["a", "␣", "b"]);
  });

  it("has no place without a caret", () => {
    expect(markFault("x", null)).toBeNull();
    expect(markFault("x", undefined)).toBeNull();
  });
});
