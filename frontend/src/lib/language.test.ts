import { expect, test } from "vitest";
import { usableLanguage } from "./language";

test.each([
  ["en-US", "en-US"],
  ["de", "de"],
  ["en-US@posix", "en-US"],
  ["de_DE.UTF-8", "de-DE"],
  ["C", "en-US"],
  ["", "en-US"],
])("%s is used as %s", (language, used) => {
  expect(usableLanguage(language)).toBe(used);
});
