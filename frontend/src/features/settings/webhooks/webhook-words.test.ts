import { describe, expect, it } from "vitest";
import { ALL_EVENTS, deliveryWords, eventWords, stateWords } from "./webhook-words";

it("names the events that a webhook hears of", () => {
  expect(eventWords([])).toBe("all events");
  expect(eventWords(ALL_EVENTS)).toBe("all events");
  expect(eventWords(["evaluation.failed"])).toBe("evaluation.failed");
  expect(eventWords(ALL_EVENTS.slice(0, 2))).toBe("2 of 7 events");
});

it("says whether it sends, and who switched it off", () => {
  expect(stateWords({ enabled: true })).toBe("on");
  expect(stateWords({ enabled: false })).toBe("off");
  expect(stateWords({ enabled: false, disabled_reason: "gone" })).toBe("off: the receiver answered 410");
});

describe("a delivery", () => {
  it.each([
    ["pending", 0, "waits"],
    ["pending", 1, "tries again, 1 try so far"],
    ["delivered", 1, "delivered"],
    ["delivered", 3, "delivered at try 3"],
    ["failed", 9, "given up after 9 tries"],
  ] as const)("%s after %i is told as it is", (state, tries, words) => {
    expect(deliveryWords({ state, tries })).toBe(words);
  });
});
