import { describe, expect, it } from "vitest";
import { indexOfStep, nearest, neighbour, newerThan } from "./steps";

const STEPS = [0, 5, 10, 20];

describe("steps that have completions", () => {
  it("are found", () => {
    expect(STEPS.map((step) => indexOfStep(STEPS, step))).toEqual([0, 1, 2, 3]);
    expect([indexOfStep(STEPS, 7), indexOfStep(STEPS, 99), indexOfStep([], 0)]).toEqual([-1, -1, -1]);
  });

  it("stand in for one that is gone: the nearest, the earlier of two", () => {
    expect([1, 5, 8, 15, 16, 400].map((step) => nearest(STEPS, step))).toEqual([0, 5, 10, 10, 20, 20]);
    expect(nearest([], 3)).toBeUndefined();
  });

  it("are walked one by one, also from between two", () => {
    expect([neighbour(STEPS, 5, 1), neighbour(STEPS, 5, -1)]).toEqual([10, 0]);
    expect([neighbour(STEPS, 7, 1), neighbour(STEPS, 7, -1)]).toEqual([10, 5]);
    expect([neighbour(STEPS, 20, 1), neighbour(STEPS, 0, -1)]).toEqual([undefined, undefined]);
  });

  it("are counted after one, there or not", () => {
    expect([0, 7, 20, 30].map((step) => newerThan(STEPS, step))).toEqual([3, 2, 0, 0]);
  });
});
