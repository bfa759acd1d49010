import { expect, test } from "vitest";
import { exportWords } from "./export-words";

test("it says what has arrived", () => {
  expect(exportWords({ state: "pending", step: null, tries: 0 })).toBe("nothing sent yet");
  expect(exportWords({ state: "live", step: 7, tries: 0 })).toBe("sent to step 7");
  expect(exportWords({ state: "live", step: 7, tries: 2 })).toBe("retrying, sent to step 7");
  expect(exportWords({ state: "failed", step: null, tries: 9 })).toBe("given up, nothing sent yet");
});
