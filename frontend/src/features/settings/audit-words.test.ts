import { expect, it } from "vitest";
import { actionWords, detailWords } from "./audit-words";

it("reads an operation as words", () => {
  expect(actionWords("createApiKey")).toBe("create api key");
});

it("says of a thing what the log kept", () => {
  expect(detailWords({ name: "ci", role: "editor", scopes: ["read", "inference"] })).toBe(
    "ci · editor · scopes read, inference",
  );
  expect(detailWords({ revision: 3, model: "" })).toBe("revision 3");
  expect(detailWords({ expires_at: "2026-11-29T08:06:21.045751Z" })).toBe("expires at 2026-11-29T08:06");
  expect(detailWords(undefined)).toBe("");
});
