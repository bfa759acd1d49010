import { describe, expect, it } from "vitest";
import { lastOnAxis, matcher, toSearch, toView, validateView, withLog } from "./view-state";

const USUAL = toView({});

describe("the view in the address", () => {
  it("leaves out what is as usual", () => {
    expect(Object.values(toSearch(USUAL)).every((value) => value === undefined)).toBe(true);
  });

  it("comes back the same", () => {
    const view = {
      axis: "tokens",
      whole: true,
      quiet: true,
      range: [12, 40],
      smoothing: 0.6,
      log: ["kl", "gradient-norm"],
      filter: "reward|kl",
      large: "reward",
    } as const;
    expect(toView(toSearch(view))).toEqual(view);
    expect(toView(toSearch({ ...view, log: "all" })).log).toBe("all");
  });

  it("drops what makes no sense", () => {
    for (const zoom of ["9-3", "4-4", "a-b", "-1-5", "1-2-3", {}]) {
      expect(validateView({ zoom }).zoom).toBeUndefined();
    }
    expect(validateView({ x: "gpu", smooth: "much", log: "<b>,kl" })).toEqual({ log: "kl" });
    expect(toView({ smooth: 7 }).smoothing).toBe(0.99);
    expect(toView({ smooth: -1 }).smoothing).toBe(0);
  });
});

describe("the end of the axis", () => {
  const far = (step: number, steps: number) => lastOnAxis({ whole: false }, step, steps);

  it("is a round step at or after the steps so far, and never after the job's last", () => {
    expect([far(0, 300), far(7, 300), far(11, 300), far(101, 300), far(260, 300)]).toEqual([
      10, 10, 12, 120, 300,
    ]);
    expect([far(3, 4), far(60, 60), far(0, 0)]).toEqual([4, 60, 1]);
  });

  it("is the job's last step where the whole job is asked for", () => {
    expect(lastOnAxis({ whole: true }, 7, 300)).toBe(300);
  });
});

describe("withLog", () => {
  it("switches one chart, and none while all are logarithmic", () => {
    const on = withLog(USUAL, "kl");
    expect(on.log).toEqual(["kl"]);
    expect(withLog(on, "kl").log).toEqual([]);
    const all = { ...USUAL, log: "all" as const };
    expect(withLog(all, "kl")).toBe(all);
  });
});

describe("matcher", () => {
  it("wants every word, in any order", () => {
    expect(matcher("norm grad")("Gradient norm")).toBe(true);
    expect(matcher("norm kl")("Gradient norm")).toBe(false);
    expect(matcher("  ")("anything")).toBe(true);
  });

  it("takes a regular expression, and broken ones as words", () => {
    expect(matcher("^time/|clip")("policy/clip_low_share")).toBe(true);
    expect(matcher("^clip")("policy/clip_low_share")).toBe(false);
    expect(matcher("reward (")("Reward (mean)")).toBe(true);
  });
});
