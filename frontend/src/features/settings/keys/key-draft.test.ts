import { describe, expect, it } from "vitest";
import { dayAfter, daysUntil, endWords, mayWords, scopeWords } from "./key-draft";

const NOW = Date.parse("2026-03-28T22:30:00Z");

describe("the end of a key", () => {
  it("is a number of days that the server takes", () => {
    expect(daysUntil("", NOW)).toBeNull();
    expect(daysUntil("2026-03-29", NOW)).toBe(1);
    expect(daysUntil(dayAfter(90, NOW), NOW)).toBe(90);
  });
  it("is none for a day that has come, one too far away, and no date", () => {
    expect(daysUntil("2026-03-28", NOW)).toBeUndefined();
    expect(daysUntil("2036-12-31", NOW)).toBeUndefined();
    expect(daysUntil("29.3.2026", NOW)).toBeUndefined();
  });
  it("is told as precisely as it is near", () => {
    expect(endWords(null, NOW)).toBe("never");
    expect(endWords("2026-03-28T22:29:59Z", NOW)).toBe("expired");
    expect(endWords("2026-03-29T03:30:00Z", NOW)).toBe("in 5 h");
    expect(endWords("2026-04-04T22:30:00Z", NOW)).toBe("in 7 d");
    expect(endWords("2026-09-01T00:00:00Z", NOW)).toBe("1 Sep");
  });
});

it("names the scopes, or that there is no limit", () => {
  expect(scopeWords(["read", "inference"])).toBe("read, inference");
  expect(scopeWords(null)).toBe("all scopes of its role");
});

it("says which keys run the platform", () => {
  const key = { role: "owner", scopes: null } as const;
  expect(mayWords({ ...key, administrator: true })).toContain("administrator");
  expect(mayWords({ ...key, administrator: false })).toBe("owner: all scopes of its role");
});
