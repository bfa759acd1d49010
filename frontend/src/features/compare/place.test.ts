import { expect, test } from "vitest";
import { idsOf, labelsOf, withBaseline } from "./place";

test("ids of an address are read once each", () => {
  expect(idsOf(undefined)).toEqual([]);
  expect(idsOf("a,,b,a")).toEqual(["a", "b"]);
});

test("another baseline moves to the front", () => {
  expect(withBaseline(["a", "b", "c"], "b")).toBe("b,a,c");
});

test("jobs of one name are told apart by the end of their ids", () => {
  const jobs = [
    { id: "ftjob-abcde12345", name: "sums" },
    { id: "ftjob-abcde67890", name: "sums" },
    { id: "ftjob-x", name: "other" },
  ];
  expect(labelsOf(jobs)).toEqual(["sums …12345", "sums …67890", "other"]);
});

test("jobs of one sweep are called by their settings", () => {
  const named = (...names: string[]) => labelsOf(names.map((name, i) => ({ id: `ftjob-${i}`, name })));
  expect(named("rates: rate 0.1", "rates: rate 0.2")).toEqual(["rate 0.1", "rate 0.2"]);
  expect(named("rates: rate 0.1", "sums")).toEqual(["rates: rate 0.1", "sums"]);
  expect(named("rates: rate 0.1")).toEqual(["rates: rate 0.1"]);
  expect(named("rate 0.1", "rate 0.2")).toEqual(["rate 0.1", "rate 0.2"]);
});
