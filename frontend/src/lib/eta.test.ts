import { expect, it } from "vitest";
import { estimate } from "./eta";

it("takes the median step, with the quartiles as a range", () => {
  expect(estimate([0, 1, 2, 4, 8], 10)).toEqual({ low: 10, middle: 15, high: 25 });
});

it("looks at the latest steps only", () => {
  const slowThenFast = [0, 100, 200, ...Array.from({ length: 31 }, (_, i) => 201 + i)];
  expect(estimate(slowThenFast, 5)?.high).toBe(5);
});

it("says nothing before three steps, and nothing when none is left", () => {
  expect(estimate([0, 1, 2], 10)).toBeNull();
  expect(estimate([0, 1, 2, 3, 4], 0)).toBeNull();
});
