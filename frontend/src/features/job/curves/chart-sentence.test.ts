import { describe, expect, it } from "vitest";
import { equalGroups, linesSentence } from "./chart-sentence";

const WORDS = { up: "Up", down: "Down" };
const line = (label: string, values: number[]) => ({
  label,
  source: { steps: values.map((_, i) => i + 1), values },
});
const RISING = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

describe("the sentence of a chart", () => {
  it("names the line that it is about where there are several", () => {
    const easy = line("easy", [1, 1, 1, 1, 1, 1]);
    expect(linesSentence([easy, line("hard", RISING)], WORDS, null)).toBe("easy: 1 throughout.");
    expect(linesSentence([easy, { label: "hard" }], WORDS, null)).toBe("1 throughout.");
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
    expect(equalGroups(0, 0)).toBe("no group with equal rewards");
    expect(equalGroups(undefined, undefined)).toBe("of a step");
  });
});
