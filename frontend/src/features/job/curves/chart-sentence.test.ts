import { describe, expect, it } from "vitest";
import { equalGroups, groupShares, linesSentence } from "./chart-sentence";

const WORDS = { up: "Up", down: "Down" };
const line = (label: string, values: number[]) => ({
  label,
  source: { steps: values.map((_, i) => i + 1), values },
});
const RISING = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

describe("the sentence of a chart", () => {
  it("is true for every line", () => {
    const easy = line("easy", [1, 1, 1, 1, 1, 1]);
    expect(linesSentence([easy, line("hard", RISING)], WORDS, null)).toBe(
      "easy: 1 throughout; hard: up from 0.1 to 1.",
    );
    expect(linesSentence([line("hard", RISING), line("new", [0.3])], WORDS, null)).toBe(
      "hard: up from 0.1 to 1; new: 0.3 at step 1.",
    );
  });

  it("names no line where only one was measured", () => {
    expect(linesSentence([line("easy", [1, 1]), { label: "hard" }], WORDS, null)).toBe("1 throughout.");
  });

  it("says once what several lines do", () => {
    const lines = [line("easy", [1, 1]), line("hard", [1, 1]), line("odd", RISING)];
    expect(linesSentence(lines, WORDS, null)).toBe("easy and hard: 1 throughout; odd: up from 0.1 to 1.");
    expect(linesSentence(lines.slice(0, 2), WORDS, null)).toBe("1 throughout (easy and hard).");
  });

  it("lists many lines by their direction", () => {
    const names = ["k = 1", "k = 2", "k = 4"];
    const lines = [...names.map((name) => line(name, RISING)), line("k = 8", [1, 1])];
    expect(linesSentence(lines, WORDS, null)).toBe(
      "Up: k = 1 (0.1 to 1), k = 2 (0.1 to 1), k = 4 (0.1 to 1). Level: k = 8.",
    );
  });

  it("takes evaluations for exact: a leap among few is a rise", () => {
    const heldOut = { ...line("k = 1", [0.58, 0.9, 0.94, 0.95, 0.96, 0.96]), sparse: true };
    expect(linesSentence([heldOut], WORDS, null)).toMatch(/^Up from 0\.58 to 0\.96/);
  });

  it("is about the visible steps", () => {
    expect(linesSentence([line("mean", RISING)], WORDS, [1, 3])).toBe(
      "Steps 1–3: 0.1 at step 1, 0.3 at step 3.",
    );
  });
});

describe("the note of useful groups", () => {
  it("does not call groups right because their rewards are equal", () => {
    expect(equalGroups(1, 1)).toBe("100% equal above 0, 0% at 0 or below");
    expect(equalGroups(0.75, 0.5)).toBe("50% equal above 0, 25% at 0 or below");
    // With 0.5 useful: 12% and 38%, not 13% and 38%.
    expect(groupShares(0.5, 0.125)).toEqual(["50%", "12%", "38%"]);
    expect(equalGroups(0, 0)).toBe("no group with equal rewards");
    expect(equalGroups(undefined, undefined)).toBe("of a step");
  });
});
