import { describe, expect, it } from "vitest";
import {
  type Case,
  flatten,
  parseItem,
  readChoice,
  readStored,
  rowsOf,
  scoresOf,
  tidy,
  windows,
  writeChoice,
  writeStored,
} from "./bench";

describe("choice of rows", () => {
  it("survives the address", () => {
    for (const text of ["3-8", "random-4-17"]) expect(writeChoice(readChoice(text))).toBe(text);
    expect(writeChoice(readChoice("nonsense"))).toBe("1-4");
    expect(readChoice("8-3")).toEqual({ how: "range", from: 8, to: 8 });
  });

  it("names a job and its step, and neither is taken for the other", () => {
    for (const choice of [{ job: "ftjob-a1", step: 12 }, { job: "ftjob-a1" }])
      expect(readStored(writeStored(choice))).toEqual(choice);
    expect(readStored("3-8")).toBeNull();
    expect(readStored(undefined)).toBeNull();
    expect(writeChoice(readChoice("ftjob-a1:12"))).toBe("1-4");
  });

  it("takes at most 16 rows", () => {
    expect(rowsOf(tidy({ how: "range", from: 1, to: 500 }), 1000)).toHaveLength(16);
    expect(rowsOf(tidy({ how: "random", count: 99, seed: 1 }), 1000)).toHaveLength(16);
  });

  it("stays inside the dataset", () => {
    expect(rowsOf({ how: "range", from: 2, to: 9 }, 4)).toEqual([1, 2, 3]);
    expect(rowsOf({ how: "range", from: 90, to: 95 }, 4)).toEqual([3]);
    expect(rowsOf({ how: "random", count: 8, seed: 3 }, 3)).toEqual([0, 1, 2]);
    expect(rowsOf({ how: "random", count: 8, seed: 3 }, 0)).toEqual([]);
  });

  it("draws the same rows for a seed and others for another", () => {
    const draw = (seed: number) => rowsOf({ how: "random", count: 5, seed }, 10_000);
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(new Set(draw(7)).size).toBe(5);
  });

  it("reads neighbours together", () => {
    expect(windows([0, 1, 2, 7])).toEqual([
      { offset: 0, limit: 3 },
      { offset: 7, limit: 1 },
    ]);
  });
});

const completion = (text: string, done = true) => ({ text, from: "typed" as const, done });
const cases: Case[] = [
  {
    key: "a",
    row: 0,
    item: { answer: "1" },
    prompt: [],
    completions: [completion("x"), completion("half", false)],
  },
  { key: "b", row: 4, item: { answer: "2" }, prompt: [], completions: [completion(""), completion("z")] },
];

describe("flatten", () => {
  it("sends each finished completion with its row, empty ones too", () => {
    expect(flatten(cases).map((one) => [one.case.row, one.completion, one.row.item?.answer])).toEqual([
      [0, "x", "1"],
      [4, "", "2"],
      [4, "z", "2"],
    ]);
  });
});

describe("scoresOf", () => {
  it("keeps rows apart and counts failures as no score", () => {
    const result = (status: string, value: number | null) => ({ name: "r", status, value });
    const answer = { jail: null, results: [result("ok", 1), result("exception", null), result("ok", 0)] };
    expect(scoresOf({ source: "", tested: flatten(cases), answer })).toEqual([
      { group: 0, value: 1 },
      { group: 1, value: null },
      { group: 1, value: 0 },
    ]);
  });
});

describe("parseItem", () => {
  it("takes an object and nothing else", () => {
    expect(parseItem('{"a": 1}')).toEqual({ item: { a: 1 } });
    expect(parseItem("[1]")).toHaveProperty("fault");
    expect(parseItem("{")).toHaveProperty("fault");
  });
});
