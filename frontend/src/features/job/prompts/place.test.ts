import { expect, it } from "vitest";
import { promptsSearch, readPrompts, toFilter, writePrompts } from "./place";

it("starts with all training rows in the order of the dataset", () => {
  const usual = { split: "train", category: undefined, sort: "row", text: "" };
  expect(readPrompts({})).toEqual(usual);
  expect(readPrompts({ split: "all", prompts: "toString", prompt_sort: "draws", prompt_q: ["a"] })).toEqual(
    usual,
  );
  expect(Object.values(promptsSearch({})).filter((value) => value !== undefined)).toEqual([]);
});

it("comes back as it was from the address", () => {
  const place = {
    split: "held_out",
    category: "newly_lost",
    sort: "-change",
    text: "12 + 30",
  } as const;
  expect(readPrompts(writePrompts(place))).toEqual(place);
  expect(toFilter(place)).toEqual({
    split: "held_out",
    category: "newly_lost",
    sort: "-change",
    q: "12 + 30",
  });
});

it("reads a number that the address has lost its quotes for", () => {
  expect(readPrompts({ prompt_q: 42 }).text).toBe("42");
});
