import { describe, expect, it } from "vitest";
import { rangeOf } from "./problems";

const SOURCE = "import os\n\ndef grade(sample, item):\n    return nope + 1\n";
const placed = (problem: { line?: number; column?: number }) => {
  const { from, to } = rangeOf({ message: "", ...problem }, SOURCE);
  return SOURCE.slice(from, to);
};

describe("rangeOf", () => {
  it("underlines the word at the column", () => {
    expect(placed({ line: 4, column: 12 })).toBe("nope");
    expect(placed({ line: 3, column: 10 })).toBe("(");
  });

  it("underlines the line without its indentation when there is no column, or one behind its end", () => {
    expect(placed({ line: 4 })).toBe("return nope + 1");
    expect(placed({ line: 1, column: 40 })).toBe("import os");
  });

  it("stays inside the source", () => {
    expect(rangeOf({ message: "", line: 99 }, "a\nbc")).toEqual({ from: 2, to: 4 });
    expect(rangeOf({ message: "" }, "")).toEqual({ from: 0, to: 0 });
    expect(placed({ line: 2 })).toBe("");
  });
});
