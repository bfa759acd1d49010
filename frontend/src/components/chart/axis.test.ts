import { describe, expect, it } from "vitest";
import { axisFrom, axisTicks, roundUp, STEPS } from "./axis";

const time = axisFrom("time", [
  [0, 5],
  [10, 25],
  [20, 125],
]);

describe("axisFrom", () => {
  it("maps steps to places and back, between and after what was measured", () => {
    expect([0, 5, 10, 15].map(time.at)).toEqual([5, 15, 25, 75]);
    expect([5, 15, 75].map(time.stepAt)).toEqual([0, 5, 15]);
    expect(time.at(30)).toBe(185);
    expect(time.stepAt(time.at(30))).toBeCloseTo(30);
  });

  it("never goes back when the clock did", () => {
    const odd = axisFrom("time", [
      [1, 10],
      [2, 8],
      [3, 20],
    ]);
    expect([1, 2, 3].map(odd.at)).toEqual([10, 10, 20]);
  });

  it("is steps when there is nothing to go by", () => {
    expect(axisFrom("tokens", [[1, 100]])).toBe(STEPS);
    expect(axisFrom("step", [])).toBe(STEPS);
  });

  it("says places with their unit", () => {
    expect(time.say(200)).toBe("3 min 20 s");
    expect(
      axisFrom("tokens", [
        [0, 0],
        [1, 5e6],
      ]).say(2_500_000),
    ).toMatch(/^2\.5\sM tokens$/);
  });
});

describe("axisTicks", () => {
  it("names round steps and always the last", () => {
    expect(axisTicks(STEPS, [0, 60])).toEqual([0, 20, 40, 60]);
    expect(axisTicks(STEPS, [0, 8])).toEqual([0, 5, 8]);
    expect(axisTicks(STEPS, [0, 1])).toEqual([0, 1]);
    expect(axisTicks(STEPS, [130, 190])).toEqual([140, 160, 180, 190]);
  });

  it("names whole minutes and hours of time", () => {
    expect(axisTicks(time, [0, 400], 4)).toEqual([0, 120, 240, 360]);
  });
});

describe("roundUp", () => {
  it("gives the same end for estimates that differ a little", () => {
    expect([412, 431, 466].map(roundUp)).toEqual([500, 500, 500]);
    expect([100, 10, 0].map(roundUp)).toEqual([100, 10, 0]);
  });
});
