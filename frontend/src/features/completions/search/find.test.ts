import { describe, expect, it } from "vitest";
import { chips, type Find, NO_FIND, readFind, readRange, toSearch, writeFind, writeRange } from "./find";

const FULL: Find = {
  q: '"carry the one" -wrong',
  in: "held_out",
  steps: [3, 40],
  reward: [-0.5, undefined],
  length: [undefined, 100],
  adv: "negative",
  finish: "length",
  failed: false,
  turns: [2, undefined],
  tool: "search",
  call: "timeout",
  order: "-reward",
};

describe("a search in the address", () => {
  it("comes back as it was", () => {
    expect(readFind(writeFind(FULL))).toEqual(FULL);
    expect(readFind(writeFind(NO_FIND))).toEqual(NO_FIND);
  });

  it("leaves the address alone when nothing is asked for", () => {
    expect(Object.values(writeFind(NO_FIND)).every((value) => value === undefined)).toBe(true);
  });

  it("drops what makes no sense instead of failing", () => {
    const odd = {
      q: { a: 1 },
      in: "test",
      steps: "a..b",
      reward: "1..2..3",
      adv: "toString",
      order: 7,
      failed: "no",
      tool: 4,
      call: "toString",
    };
    expect(readFind(odd)).toEqual(NO_FIND);
  });

  it("takes numbers that were typed into the address as text", () => {
    expect(readFind({ q: 47, reward: 1 })).toMatchObject({ q: "47", reward: [1, 1] });
    expect(readFind({ q: "x".repeat(900) }).q).toHaveLength(500);
  });
});

describe("a range", () => {
  it.each([
    ["0.5..1", [0.5, 1]],
    ["-1..", [-1, undefined]],
    ["..0", [undefined, 0]],
    ["2", [2, 2]],
    ["..", undefined],
    ["", undefined],
    ["Infinity..", undefined],
    [undefined, undefined],
  ])("%s", (text, range) => expect(readRange(text)).toEqual(range));

  it("is written as it is read", () => {
    expect(writeRange([undefined, 3])).toBe("..3");
    expect(writeRange([undefined, undefined])).toBeUndefined();
    expect(readRange(writeRange([0, 0]))).toEqual([0, 0]);
  });
});

describe("a search for the server", () => {
  it("has every filter under its name there", () => {
    expect(toSearch(FULL)).toEqual({
      q: '"carry the one" -wrong',
      split: "held_out",
      step_from: 3,
      step_to: 40,
      reward_min: -0.5,
      reward_max: undefined,
      length_min: undefined,
      length_max: 100,
      advantage: "negative",
      finish_reason: "length",
      failed: false,
      turns_min: 2,
      turns_max: undefined,
      tool: "search",
      tool_status: "timeout",
      sort: "-reward",
    });
  });

  it("asks for whole steps and lengths only, and for no blank words", () => {
    expect(toSearch({ ...NO_FIND, q: "  ", steps: [-4, 2.6] })).toMatchObject({
      q: undefined,
      step_from: 0,
      step_to: 3,
    });
  });
});

it("says what narrows the search", () => {
  expect(chips(NO_FIND)).toEqual([]);
  expect(chips(FULL).map((chip) => chip.words)).toEqual([
    '“"carry the one" -wrong”',
    "held-out rows",
    "step 3–40",
    "reward ≥ −0.5",
    "worse than its group",
    "truncated",
    "no reward error",
    "≤ 100 tokens",
    "≥ 2 turns",
    "calls search",
    "a call: timed out",
  ]);
});
