import { describe, expect, it } from "vitest";
import { ALL_EVENTS, deliveryWords, eventWords, stateWords } from "./webhook-words";

it("names the events that a webhook hears of", () => {
  expect(eventWords([])).toBe("all events");
  expect(eventWords(ALL_EVENTS)).toBe("all events");
  expect(eventWords(["evaluation.failed"])).toBe("evaluation.failed");
  expect(eventWords(ALL_EVENTS.slice(0, 2))).toBe("2 of 8 events");
});

it("says whether it sends, and who switched it off", () => {
  expect(stateWords({ enabled: true })).toBe("enabled");
  expect(stateWords({ enabled: false })).toBe("disabled");
  expect(stateWords({ enabled: false, disabled_reason: "gone" })).toBe("disabled: the receiver returned 410");
});

describe("a delivery", () => {
  it.each([
    ["pending", 0, "pending"],
    ["pending", 1, "retrying, 1 attempt so far"],
    ["delivered", 1, "delivered"],
    ["delivered", 3, "delivered at attempt 3"],
    ["failed", 9, "failed after 9 attempts"],
  ] as const)("%s after %i is told as it is", (state, tries, words) => {
    expect(deliveryWords({ state, tries })).toBe(words);
  });
});
