import { describe, expect, it } from "vitest";
import { differences, ordered, rowsOf, rowValue } from "./compare";
import { movedWords, verdict } from "./words";

const own = [
  { row: 0, rewards: [1, 1] },
  { row: 3, rewards: [0, 1] },
  { row: 5, rewards: [null, null] },
  { row: 7, rewards: [0.25, null] },
];
const base = [
  { row: 0, rewards: [0, 0] },
  { row: 3, rewards: [0, 1] },
  { row: 5, rewards: [1, 1] },
  { row: 7, rewards: [0.5, 0.5] },
];

describe("a row", () => {
  it("is the mean over what was scored", () => {
    expect(rowValue([0.25, null], "eval/reward", 0.5)).toBe(0.25);
    expect(rowValue([null, null], "eval/reward", 0.5)).toBeNull();
  });
  it("passes strictly above the mark", () => {
    expect(rowValue([0.5, 0.75], "eval/pass_rate", 0.5)).toBe(0.5);
    expect(rowValue([0.5, 0.75], "eval/pass_any", 0.5)).toBe(1);
    expect(rowValue([0.5, 0.25], "eval/pass_any", 0.5)).toBe(0);
  });
});

describe("rows", () => {
  it("have the prompt and the answer that were stored with them", () => {
    const [first, second] = rowsOf([{ row: 4, rewards: [1], prompt: "15+48=", answer: "63" }, ...own]);
    expect(first).toMatchObject({ row: 4, prompt: "15+48=", answer: "63" });
    expect(second).toMatchObject({ prompt: null, answer: null });
  });
});

describe("two evaluations", () => {
  it("are compared on the rows that both could score", () => {
    const [reward, passed] = differences(own, base, 0.5);
    expect(reward).toMatchObject({ metric: "eval/reward", rows: 3 });
    expect(reward?.change.value).toBeCloseTo((1 + 0 - 0.25) / 3, 12);
    expect(passed?.change.value).toBeCloseTo(1 / 3, 12);
    expect(reward?.change.low).toBeLessThanOrEqual(reward?.change.value as number);
  });
  it("without a common row have no difference", () => {
    expect(differences(own, [{ row: 9, rewards: [1] }], 0.5)).toEqual([]);
  });
  it("say which rows moved", () => {
    const rows = rowsOf(own, base);
    expect(rows.map(({ change }) => change)).toEqual([1, 0, null, -0.25]);
    expect(movedWords(rows)).toBe("1 row better, 1 worse, 1 the same.");
    expect(ordered(rows, "fell").map(({ row }) => row)).toEqual([7, 3, 0, 5]);
    expect(ordered(rows, "rose").map(({ row }) => row)).toEqual([0, 3, 7, 5]);
    expect(ordered(rows, "low").map(({ row }) => row)).toEqual([7, 3, 0, 5]);
  });
});

describe("the sentence", () => {
  const of = (low: number, value: number, high: number) =>
    verdict({ metric: "eval/reward", rows: 64, change: { low, value, high } }, "base");
  it("claims a difference only when the interval leaves zero out", () => {
    expect(of(0.22, 0.31, 0.4)).toMatch(/^Mean reward is higher than in base by 0\.31 on 64/);
    expect(of(-0.4, -0.31, -0.22)).toMatch(/^Mean reward is lower than in base by 0\.31/);
    expect(of(-0.02, 0.03, 0.08)).toMatch(/not significant/);
  });
});
