import { describe, expect, it } from "vitest";
import {
  ago,
  bytes,
  change,
  duration,
  number,
  parameters,
  percent,
  percents,
  range,
  reward,
  roughly,
  signed,
  tick,
} from "./format";

const THIN = "\u202f";
const plain = (text: string) => text.replaceAll(THIN, " ").replaceAll("\u00a0", " ");

describe("numbers", () => {
  it.each([
    [0, "0"],
    [0.95312, "0.953"],
    [0.5, "0.5"],
    [48.49, "48.5"],
    [999.6, "1000"],
    [12_345.6, "12,346"],
    [1_234_567, "1.23 M"],
    [-0.25, "−0.25"],
    [0.0000021, "2.1e−6"],
    [null, "–"],
    [Number.NaN, "–"],
  ])("number(%s) is %s", (value, text) => expect(plain(number(value))).toBe(text));

  it.each([
    [0.4, "+0.40"],
    [-0.721, "−0.72"],
    [0.001, "0.00"],
    [-0.001, "0.00"],
  ])("signed(%s) is %s", (value, text) => expect(signed(value)).toBe(text));

  it("keeps rewards at two decimals, so that columns line up", () => {
    expect([reward(1), reward(0.456), reward(-0.5), reward(null)]).toEqual(["1.00", "0.46", "−0.50", "–"]);
  });

  it("never rounds a share into none or all", () => {
    const shares = [0, 0.001, 0.62, 0.999, 1].map((share) => plain(percent(share)));
    expect(shares).toEqual(["0%", "<1%", "62%", ">99%", "100%"]);
  });

  it("rounds the shares of a whole so that they are 100% together", () => {
    expect(percents([0.125, 0.875])).toEqual(["12%", "88%"]);
    expect(percents([1 / 3, 1 / 3, 1 / 3])).toEqual(["33%", "33%", "34%"]);
    expect(percents([0.5, 0.5, 0])).toEqual(["50%", "50%", "0%"]);
    expect(percents([0, 1])).toEqual(["0%", "100%"]);
  });

  it("writes axes shortly", () => {
    expect([0, 0.25, 20_000, 221_312, 2e-6, -1.5e-5].map(tick)).toEqual([
      "0",
      "0.25",
      "20k",
      "221k",
      "2e−6",
      "−1.5e−5",
    ]);
  });

  it("gives changes a sign and two digits", () => {
    expect([change(22.4), change(-0.0761), change(0)]).toEqual(["+22", "−0.076", "0"]);
  });
});

describe("times and sizes", () => {
  it.each([
    [0.413, "0.41 s"],
    [12.4, "12 s"],
    [60, "1 min"],
    [200, "3 min 20 s"],
    [7500, "2 h 5 min"],
    [273_600, "3 d 4 h"],
  ])("duration(%s) is %s", (seconds, text) => expect(plain(duration(seconds))).toBe(text));

  it("rounds guesses to what is known", () => {
    expect([0.2, 19.6, 616, 7512].map((seconds) => plain(roughly(seconds)))).toEqual([
      "1 s",
      "20 s",
      "10 min",
      "2 h 5 min",
    ]);
  });

  it("names the unit of a range once where it can", () => {
    expect(plain(range(16, 27))).toBe("16–27 s");
    expect(plain(range(214, 1332))).toBe("4–22 min");
    expect(plain(range(50, 200))).toBe("50 s – 3 min");
    expect(plain(range(7100, 7600))).toBe("1 h 58 min – 2 h 7 min");
    expect(plain(range(20.1, 20.3))).toBe("20 s");
  });

  it("tells recent times by their distance", () => {
    const now = Date.parse("2026-11-20T12:00:00Z");
    const at = (seconds: number) => plain(ago(new Date(now - seconds * 1000).toISOString(), now));
    expect([at(5), at(300), at(7200), at(172_800)]).toEqual(["just now", "5 min ago", "2 h ago", "18 Nov"]);
  });

  it("counts bytes in powers of ten", () => {
    expect([bytes(12), bytes(312_000), bytes(3_800_000)].map(plain)).toEqual(["12 B", "312 kB", "3.8 MB"]);
  });

  it("says how large a model is as people do", () => {
    expect([821_248, 596_049_920, 7_615_616_512, null].map(parameters).map(plain)).toEqual([
      "821 k",
      "596 M",
      "7.62 B",
      "–",
    ]);
  });
});
