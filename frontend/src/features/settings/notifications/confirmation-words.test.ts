import { expect, test } from "vitest";
import { confirmationWords } from "./confirmation-words";

test("it says what to do next", () => {
  const email = "ada@example.org";
  expect(confirmationWords({ confirmation: "none", email })).toContain("not confirmed yet");
  expect(confirmationWords({ confirmation: "sent", email })).toContain("Open the link");
  expect(confirmationWords({ confirmation: "failed", email })).toContain("Check the address");
});
