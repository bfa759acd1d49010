import { expect, it } from "vitest";
import { blocks, inline, safeHref } from "./markdown";

it("has headings, lists, code and emphasis", () => {
  expect(blocks("# Why\n\nlr **too *high***\n- a\n- `b`\n\n```\n<b>\n```").map(({ type }) => type)).toEqual([
    "heading",
    "paragraph",
    "list",
    "code",
  ]);
  expect(inline("a `**b**` c")).toContainEqual({ type: "code", text: "**b**" });
});

it("keeps HTML and images as text, and refuses addresses that run code", () => {
  expect(inline("<img src=x onerror=alert(1)>")).toEqual([
    { type: "text", text: "<img src=x onerror=alert(1)>" },
  ]);
  for (const href of [
    "javascript:alert(1)",
    "JaVaScRiPt:x",
    "data:text/html,x",
    "//evil.example",
    "/\\evil.example",
  ]) {
    expect(safeHref(href)).toBeUndefined();
    expect(inline(`[x](${href})`).some((part) => part.type === "link")).toBe(false);
  }
  expect(inline("![pixel](https://a.example/p.png)")).toEqual([
    { type: "link", href: "https://a.example/p.png", parts: [{ type: "text", text: "pixel" }] },
  ]);
});

it("links addresses in a text", () => {
  expect(inline("see https://a.example/x.")).toContainEqual({
    type: "link",
    href: "https://a.example/x",
    parts: [{ type: "text", text: "https://a.example/x" }],
  });
});

it("ends on any input", () => {
  for (const text of ["```", "> ", "- ", "1. ", "*".repeat(2000), "[".repeat(2000), "#", "`a".repeat(999)]) {
    expect(blocks(text).length).toBeLessThan(3);
  }
});
