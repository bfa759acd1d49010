import { describe, expect, it } from "vitest";
import { cell, head, named, parts, visible } from "./text";

describe("what a stranger wrote", () => {
  it("keeps words, line ends, tabs, marks and emoji as they are", () => {
    for (const text of ["<script>alert(1)</script>", "a\n\tb", "שלום عالم", "e\u0301 👩‍👩‍👧", "\u200b"])
      expect(visible(text)).toBe(text);
  });

  it("shows control characters and escapes instead of obeying them", () => {
    expect(visible("\u001b[31mred\u0007\u0000")).toBe("‹ESC›[31mred‹BEL›‹NUL›");
    expect(visible("a\rb\u007f\u0085")).toBe("a‹CR›b‹U+007F›‹U+0085›");
    expect(visible("a\r\nb")).toBe("a\nb");
  });

  it("shows marks that would reorder their surroundings", () => {
    expect(visible("\u202eevil\u2066")).toBe("‹U+202E›evil‹U+2066›");
  });

  it("shows blanks of a token", () => {
    expect(cell(" a\t\n")).toBe("·a→↵\n");
    expect(named("\n\n")).toBe("↵↵");
  });
});

describe("the beginning of a text", () => {
  it("is as long as asked for, unless a character would be torn apart", () => {
    expect(head("abcdef", 3)).toBe("abc");
    expect(head("ab👍", 3)).toBe("ab");
    expect(head("ae\u0301x", 2)).toBe("a");
    expect(head("short", 99)).toBe("short");
  });

  it("does not look for a place to cut for ever", () => {
    expect(head(`a${"\u0301".repeat(1000)}`, 500).length).toBeGreaterThan(480);
  });
});

describe("thinking", () => {
  it("is apart from the answer", () => {
    expect(parts("<think>7+5=12</think><answer>12</answer>")).toEqual([
      { kind: "think", text: "7+5=12" },
      { kind: "text", text: "<answer>12</answer>" },
    ]);
    expect(parts("so <think>a</think> then <think>b").map((part) => part.kind)).toEqual([
      "text",
      "think",
      "text",
      "think",
    ]);
    expect(parts("no thought")).toEqual([{ kind: "text", text: "no thought" }]);
    expect(parts("")).toEqual([]);
  });
});
