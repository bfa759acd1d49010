import { describe, expect, it } from "vitest";
import { excerpt, mark, terms } from "./hits";

const hits = (text: string, query: string) =>
  mark(text, terms(query))
    .filter((piece) => piece.hit)
    .map((piece) => piece.text);

describe("words of a search", () => {
  it("are words and exact phrases, without what is excluded", () => {
    expect(terms('carry "the one" -wrong OR sum')).toEqual(["carry", "the one", "sum"]);
    expect(terms('-"not this" "open end')).toEqual(["open end"]);
    expect(terms("  ")).toEqual([]);
  });
});

describe("marked words", () => {
  it("are found in any case, the longest first", () => {
    expect(hits("Carry the carrying, CARRY", "carry carrying")).toEqual(["Carry", "carrying", "CARRY"]);
    expect(hits("the  one", '"the one"')).toEqual(["the  one"]);
  });

  it("are never read as a pattern", () => {
    expect(hits("1+1=2 (a.b) [x]", "1+1 (a.b) [x]")).toEqual(["1+1", "(a.b)", "[x]"]);
    expect(hits("aXb", "a.b")).toEqual([]);
    expect(hits("a\\b $1", "\\ $1")).toEqual(["\\", "$1"]);
  });

  it("leave the text as it is", () => {
    const text = "<b>שלום</b> 👍 carry";
    expect(
      mark(text, terms("carry 👍 b"))
        .map((piece) => piece.text)
        .join(""),
    ).toBe(text);
    expect(mark("", ["a"])).toEqual([]);
  });
});

describe("an excerpt", () => {
  it("begins at the text or near the first hit", () => {
    const text = `${"a ".repeat(100)}needle${" b".repeat(200)}`;
    expect(excerpt(text, ["needle"])).toMatch(/^… .*needle.* …$/);
    expect(excerpt("short needle", ["needle"])).toBe("short needle");
    expect(excerpt(text, []).length).toBeLessThan(250);
  });
});
