import { describe, expect, it } from "vitest";
import { lengthsSentence } from "./lengths-sentence";

const lengths = {
  object: "token_lengths" as const,
  counted: 100,
  total: 100,
  failed: 0,
  min: 10,
  median: 20,
  p90: 40,
  max: 812,
  longest_row: 16,
  bins: [],
  context_length: 1024,
};

describe("lengthsSentence", () => {
  it("names the longest row as people count it, and the room that is left", () => {
    const text = lengthsSentence(lengths);
    expect(text).toContain("row 17 with 812");
    expect(text).toContain("at least 212 remain");
    expect(text).not.toContain("Counted on");
  });

  it("says that a job stops at a prompt that is too long", () => {
    expect(lengthsSentence({ ...lengths, context_length: 512 })).toContain("a job stops");
  });

  it("tells a sample from rows that cannot be rendered", () => {
    expect(lengthsSentence({ ...lengths, counted: 90, failed: 10 })).not.toContain("Counted on");
    expect(lengthsSentence({ ...lengths, counted: 90, total: 5000 })).toContain("Counted on 90");
  });

  it("has a short form where all are alike, and holds without a context length", () => {
    const text = lengthsSentence({ ...lengths, min: 812, context_length: null });
    expect(text.replace(/\s/g, " ")).toBe("Every prompt has 812 tokens.");
  });
});
