import { describe, expect, it } from "vitest";
import { draftOf, faultOf, rowRanges, sameDraft, viewOf } from "./prompt-draft";

const columns = [
  { name: "messages", type: "list", nulls: 0, example: "" },
  { name: "question", type: "string", nulls: 0, example: "" },
  { name: "answer", type: "string", nulls: 0, example: "" },
];

describe("prompt draft", () => {
  it("starts from what the server would take by itself", () => {
    const draft = draftOf({}, columns);
    expect(draft).toMatchObject({ from: "column", prompt: "messages", answer: "answer", slice: null });
    expect(sameDraft(draft, draftOf(viewOf(draft, columns), columns))).toBe(true);
  });

  it("gives a list column the messages role and a text column the prompt role", () => {
    const draft = draftOf({}, columns);
    expect(viewOf(draft, columns).columns).toMatchObject({ messages: "messages", prompt: null });
    expect(viewOf({ ...draft, prompt: "question" }, columns).columns).toMatchObject({
      messages: null,
      prompt: "question",
    });
  });

  it("keeps a template apart from the column", () => {
    const view = viewOf(
      { ...draftOf({}, columns), from: "template", template: "{question}", system: "S" },
      columns,
    );
    expect(view).toMatchObject({ prompt_template: "{question}", system_prompt: "S" });
    expect(view.columns).toMatchObject({ messages: null, prompt: null });
    expect(draftOf(view, columns)).toMatchObject({ from: "template", prompt: null });
  });

  it("says why a draft cannot be used", () => {
    const draft = draftOf({}, columns);
    expect(faultOf(draft, columns)).toBeNull();
    expect(faultOf({ ...draft, prompt: null }, columns)).toContain("Choose");
    expect(faultOf({ ...draft, from: "template", template: "{nope}" }, columns)).toContain("“nope”");
    expect(faultOf({ ...draft, from: "template", template: "{question}" }, columns)).toBeNull();
  });
});

describe("rowRanges", () => {
  it("joins neighbours and counts from 1", () => {
    expect(rowRanges([0, 1, 2, 6, 8, 9])).toBe("1–3, 7, 9–10");
    expect(rowRanges([])).toBe("");
  });

  it("counts what is left out in rows, not ranges", () => {
    expect(rowRanges([0, 2, 4, 5], 1)).toBe("1 and 3 more");
  });
});
