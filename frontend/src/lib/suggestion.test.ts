import { describe, expect, it } from "vitest";
import { suggestionOf, withSuggestion } from "./suggestion";

const dataset = {
  suggested_columns: { prompt: "question", messages: null, answer: "total", slice: null },
  prompt_view: {
    system_prompt: "Add.",
    columns: { slice: "level", prompt: null, answer: null, messages: null },
  },
};

describe("suggested columns", () => {
  it("are named by their role", () => {
    expect(suggestionOf(dataset)).toEqual([
      ["prompt", "question"],
      ["answer", "total"],
    ]);
    expect(suggestionOf({ suggested_columns: null })).toEqual([]);
  });

  it("leave the other settings as they are", () => {
    expect(withSuggestion(dataset)).toEqual({
      system_prompt: "Add.",
      columns: { slice: "level", prompt: "question", answer: "total", messages: null },
    });
  });
});
