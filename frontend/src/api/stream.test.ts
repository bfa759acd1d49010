import { describe, expect, it } from "vitest";
import { backoff } from "./stream";

describe("backoff", () => {
  it("grows to fifteen seconds and no further", () => {
    expect([0, 1, 2, 3, 10].map((attempt) => backoff(attempt, 1))).toEqual([500, 1000, 2000, 4000, 15_000]);
  });

  it("keeps at least half of the pause whatever the jitter", () => {
    expect(backoff(2, 0)).toBe(1000);
  });
});
