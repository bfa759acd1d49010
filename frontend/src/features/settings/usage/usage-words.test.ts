import { describe, expect, it } from "vitest";
import { actionWords } from "../audit-words";
import { amountWords, bars, sourcePage } from "./usage-words";

describe("bars", () => {
  it("are as high as their share of the highest day", () => {
    const days = [
      { day: "2026-01-01", amounts: { sampled_tokens: 5 } },
      { day: "2026-01-02", amounts: {} },
      { day: "2026-01-03", amounts: { sampled_tokens: 20 } },
    ];
    expect(bars(days, "sampled_tokens").map(({ share }) => share)).toEqual([0.25, 0, 1]);
  });

  it("are flat where nothing was used", () => {
    expect(bars([{ day: "2026-01-01", amounts: {} }], "judge_spend")).toEqual([
      { day: "2026-01-01", amount: 0, share: 0 },
    ]);
  });
});

describe("what used it", () => {
  it("leads to its page where there is one", () => {
    const to = (source: string, amounts = {}) => sourcePage({ source, name: null, amounts });
    expect(to("ftjob-1")).toBe("/jobs/$id");
    expect(to("rew_1")).toBe("/rewards/$id");
    expect(to("eval_1", { sampled_tokens: 5 })).toBe("/evaluations/$id");
    expect(to("eval_2", { judge_spend: 1 })).toBeNull();
    expect(to("dep_1")).toBeNull();
  });
});

describe("words", () => {
  it("carry the unit of what is counted", () => {
    expect(amountWords("storage_bytes", 2_000_000)).toContain("MB");
    expect(amountWords("judge_spend", 0.25)).toBe("0.25");
    expect(amountWords("device_seconds", 0)).toMatch(/^0\ss$/);
  });

  it("read an operation as people do", () => {
    expect(actionWords("createApiKey")).toBe("create api key");
  });
});
