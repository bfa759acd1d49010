import { describe, expect, it } from "vitest";
import {
  columnOfRole,
  fillTemplate,
  itemColumns,
  itemOf,
  messagesOf,
  parseTemplate,
  specialPieces,
  templateProblems,
  valueText,
} from "./prompt";

describe("templates", () => {
  it("finds placeholders with their places", () => {
    expect(parseTemplate("Q: {question}!").placeholders).toEqual([{ column: "question", from: 3, to: 13 }]);
  });

  it("reads doubled braces as braces, as in LaTeX", () => {
    expect(fillTemplate("\\boxed{{{a}}}", { a: 3 })).toBe("\\boxed{3}");
    expect(parseTemplate("{{a}}").placeholders).toEqual([]);
  });

  it("inserts text as it stands and other values as JSON", () => {
    expect(fillTemplate("{a} {b} {c}", { a: "x", b: 2, c: ["y"] })).toBe('x 2 ["y"]');
  });

  it("does not read inserted text as a template again", () => {
    expect(fillTemplate("{a}", { a: "{b}", b: "no" })).toBe("{b}");
  });

  it("names single braces, empty placeholders and unknown columns, in order", () => {
    const problems = templateProblems("{x} {} } {a}", ["a"]);
    expect(problems.map(({ from, to }) => [from, to])).toEqual([
      [0, 3],
      [4, 6],
      [7, 8],
    ]);
    expect(problems[0]?.message).toContain("“x”");
    expect(templateProblems("{a}{{", ["a"])).toEqual([]);
  });
});

describe("messagesOf", () => {
  const row = { messages: [{ role: "user", content: "1+1=" }], prompt: "other", a: 1 };

  it("takes the template first, then the named column, then messages, then prompt", () => {
    expect(messagesOf(row, { prompt_template: "{a}?" })[0]?.content).toBe("1?");
    expect(messagesOf(row, { columns: { prompt: "prompt" } })[0]?.content).toBe("other");
    expect(messagesOf(row)[0]?.content).toBe("1+1=");
    expect(messagesOf({ prompt: "p" })).toEqual([{ role: "user", content: "p" }]);
  });

  it("puts the system prompt before messages that have none", () => {
    expect(messagesOf(row, { system_prompt: "S" }).map((message) => message.role)).toEqual([
      "system",
      "user",
    ]);
    const own = { messages: [{ role: "system", content: "own" }] };
    expect(messagesOf(own, { system_prompt: "S" })).toEqual([{ role: "system", content: "own" }]);
  });

  it("joins text parts and gives nothing for rows without a prompt", () => {
    const parts = [{ role: "user", content: [{ type: "text", text: "a" }, { text: "b" }] }];
    expect(messagesOf({ messages: parts })).toEqual([{ role: "user", content: "a\nb" }]);
    expect(messagesOf({ a: 1 })).toEqual([]);
  });
});

describe("columnOfRole", () => {
  it("says which column plays a part without being named", () => {
    expect(columnOfRole("messages", {}, ["messages", "prompt"])).toBe("messages");
    expect(columnOfRole("prompt", {}, ["messages", "prompt"])).toBeNull();
    expect(columnOfRole("prompt", {}, ["prompt"])).toBe("prompt");
    expect(columnOfRole("messages", { prompt_template: "{a}" }, ["messages"])).toBeNull();
    expect(columnOfRole("answer", { columns: { answer: "gold" } }, ["answer"])).toBe("gold");
    expect(columnOfRole("slice", {}, ["answer"])).toBeNull();
  });
});

describe("texts", () => {
  it("shows messages as a conversation and other values as JSON", () => {
    expect(valueText([{ role: "user", content: "hi" }])).toBe("user: hi");
    expect(valueText({ a: 1 })).toBe('{"a":1}');
    expect(valueText([])).toBe("[]");
    expect(valueText(null)).toBe("");
  });

  it("cuts rendered text at special tokens and leaves other angle brackets alone", () => {
    expect(specialPieces("<|user|>1<2<|assistant|>")).toEqual(["", "<|user|>", "1<2", "<|assistant|>", ""]);
    expect(specialPieces("a <b> c")).toEqual(["a <b> c"]);
  });
});

describe("what a reward reads of a row", () => {
  const view = { columns: { answer: "total" } };
  it("has the declared column as its answer, as on the server", () => {
    expect(itemOf({ question: "1+1", total: "2" }, view)).toEqual({
      question: "1+1",
      total: "2",
      answer: "2",
    });
    expect(itemOf({ total: "2", answer: "long" }, view)).toEqual({ total: "2", answer: "2" });
    expect(itemOf({ total: null, answer: "long" }, view)).toEqual({ total: null, answer: null });
    expect(itemOf({ question: "1+1", answer: "long" }, view)).toEqual({ question: "1+1" });
    expect(itemOf({ answer: "2" }, {})).toEqual({ answer: "2" });
    expect(itemOf({ answer: "2" }, { columns: { answer: "answer" } })).toEqual({ answer: "2" });
  });
  it("lists its columns", () => {
    const named = (...names: string[]) => names.map((name) => ({ name }));
    expect(itemColumns(named("question", "total"), view)).toEqual(named("question", "total", "answer"));
    expect(itemColumns(named("answer", "total"), view)).toEqual(named("total", "answer"));
    expect(itemColumns(named("question"), view)).toEqual(named("question"));
    expect(itemColumns(named("question", "total"), {})).toEqual(named("question", "total"));
  });
});
