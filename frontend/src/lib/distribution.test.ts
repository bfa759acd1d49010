import { describe, expect, it } from "vitest";
import { groupSpread, histogram, niceStep, spread, verdict } from "./distribution";

const total = (bins: { count: number }[]) => bins.reduce((sum, bin) => sum + bin.count, 0);

describe("histogram", () => {
  it("gives few distinct values a bin each", () => {
    expect(histogram([1, 0, 1, 1])).toEqual([
      { low: 0, high: 0, count: 1 },
      { low: 1, high: 1, count: 3 },
    ]);
  });

  it("counts every value once in equally wide, touching bins with round edges", () => {
    const values = Array.from({ length: 101 }, (_, i) => i / 100);
    const bins = histogram(values);
    expect(total(bins)).toBe(101);
    expect(bins.length).toBeLessThanOrEqual(12);
    expect(bins[0]).toEqual({ low: 0, high: 0.1, count: 10 });
    expect(bins.at(-1)?.high).toBe(1);
    expect(bins.slice(1).every((bin, i) => bin.low === bins[i]?.high)).toBe(true);
  });

  it("holds negative values and one outlier", () => {
    const bins = histogram([-3, -2.5, -2, -1, 0, 0.5, 1, 40]);
    expect(total(bins)).toBe(8);
    expect(bins[0]?.low).toBeLessThanOrEqual(-3);
    expect(bins.at(-1)?.high).toBeGreaterThanOrEqual(40);
  });

  it("is empty without values", () => {
    expect(histogram([])).toEqual([]);
  });

  it("picks 1, 2 and 5 as steps", () => {
    expect([0.7, 0.13, 3, 18, 51].map(niceStep)).toEqual([1, 0.2, 5, 20, 100]);
  });
});

describe("verdict", () => {
  const rows = (...values: (number | null)[]) => values.map((value, i) => ({ group: i >> 1, value }));

  it("warns when all scores are zero or equal", () => {
    expect(verdict(rows(0, 0, 0))?.title).toContain("scores 0");
    expect(verdict(rows(0.5, 0.5))?.title).toContain("the same");
  });

  it("warns when only rows differ, never completions of one row", () => {
    expect(verdict(rows(0, 0, 1, 1))?.title).toContain("Completions of a row");
  });

  it("says nothing about one score, or about scores that differ inside a row", () => {
    expect(verdict(rows(0))).toBeNull();
    expect(verdict(rows(0, 1, 1, 1))).toBeNull();
  });

  it("leaves failures out, and says so when nothing is left", () => {
    expect(verdict(rows(null, 1, 0, null))).toBeNull();
    expect(verdict(rows(null, null))?.tone).toBe("bad");
    expect(verdict([])).toBeNull();
  });
});

describe("spread inside groups", () => {
  it("is the mean deviation of groups that have two scores or more", () => {
    const scored = [
      { group: 0, value: 0 },
      { group: 0, value: 1 },
      { group: 1, value: 0.5 },
      { group: 1, value: 0.5 },
      { group: 2, value: 7 },
      { group: 2, value: null },
    ];
    const result = groupSpread(scored);
    expect(result).toMatchObject({ groups: 2, apart: 1 });
    expect(result?.deviation).toBeCloseTo(Math.SQRT1_2 / 2);
    expect(groupSpread(scored.slice(4))).toBeNull();
  });
});

describe("spread", () => {
  it("sorts by value, not by text", () => {
    expect(spread([10, 9, 2])).toEqual({ min: 2, median: 9, max: 10, mean: 7 });
    expect(spread([])).toBeNull();
  });
});

it("does not blame a reward for scoring reference answers alike", () => {
  const scored = [1, 2, 3].map((group) => ({ group, value: 1 }));
  expect(verdict(scored, true)?.title).toBe("All reference answers score the same");
  expect(verdict(scored)?.text).toContain("it would learn nothing");
  const zero = scored.map((one) => ({ ...one, value: 0 }));
  expect(verdict(zero, true)?.title).toBe("Every completion scores 0");
});
