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
