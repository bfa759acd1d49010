import { describe, expect, it } from "vitest";
import type { SampleEvent } from "@/api/playground";
import {
  afterEvent,
  ending,
  history,
  pendingReply,
  promptOf,
  spoken,
  stopOf,
  type Turn,
  withSystem,
} from "./talk";

const event = (more: Partial<SampleEvent>) => more as SampleEvent;

describe("heard", () => {
  it("grows with the pieces and ends with the whole", () => {
    const events = [
      event({ type: "status", message: "Loading m" }),
      event({ type: "delta", text: "1" }),
      event({ type: "delta", text: "3" }),
    ];
    const writing = events.reduce((reply, one) => afterEvent(reply, one, 1), pendingReply("base"));
    expect(writing).toMatchObject({ state: "writing", text: "13", status: "" });
    const done = afterEvent(
      writing,
      event({ type: "done", text: "132", tokens: 4, finish_reason: "length" }),
      2.5,
    );
    expect(done).toMatchObject({ state: "done", text: "132", tokens: 4, seconds: 2.5, finish: "length" });
    expect(afterEvent(done, event({ type: "end" }), 3)).toEqual(done);
  });

  it("shows what is happening before the first token", () => {
    expect(afterEvent(pendingReply("base"), event({ type: "status", message: "Loading m" }), 0).status).toBe(
      "Loading m",
    );
  });
});

const turn = (prompt: string, base: string, adapter?: string): Turn => ({
  id: 0,
  answer: null,
  item: null,
  alone: false,
  prompt,
  replies: {
    base: { ...pendingReply("base"), state: "done", text: base },
    ...(adapter === undefined
      ? {}
      : { adapter: { ...pendingReply("step 1"), state: "done", text: adapter } }),
  },
});

describe("history", () => {
  it("gives each side its own answers", () => {
    const turns = [turn("a", "B1", "A1"), turn("b", "B2", "A2")];
    expect(history(turns, "base", []).map((one) => one.content)).toEqual(["a", "B1", "b", "B2"]);
    expect(history(turns, "adapter", []).map((one) => one.content)).toEqual(["a", "A1", "b", "A2"]);
  });

  it("leaves out what a side never answered", () => {
    expect(history([turn("a", "B1")], "adapter", [{ role: "user", content: "x" }])).toHaveLength(1);
  });
});

it("one system message, the person's before the row's", () => {
  const row = [
    { role: "system", content: "old" },
    { role: "user", content: "1+1" },
  ];
  expect(withSystem(row, "new").map((one) => one.content)).toEqual(["new", "1+1"]);
  expect(withSystem(row, " ")).toEqual(row);
});

it("a row is a prompt when its last message is the user's", () => {
  expect(promptOf([{ role: "user", content: "1+1" }])).toEqual({ before: [], prompt: "1+1" });
  expect(promptOf([{ role: "assistant", content: "2" }])).toBeNull();
  expect(promptOf([])).toBeNull();
});

it("reads line breaks in a stop text", () => {
  expect(stopOf("")).toEqual([]);
  expect(stopOf("END")).toEqual(["END"]);
  expect(stopOf("a\\n\\tb")).toEqual(["a\n\tb"]);
});

it("says how it ended only when that is not the usual", () => {
  expect([ending("stop"), ending("length"), ending(null)]).toEqual(["", "truncated", ""]);
});

it("is read out once, when both sides have ended", () => {
  const growing = turn("a", "B1", "A1");
  const waiting = { ...growing, replies: { ...growing.replies, adapter: pendingReply("step 1") } };
  expect(spoken(waiting)).toBe("");
  expect(spoken(growing)).toBe("base said: B1. step 1 said: A1");
  expect(spoken(undefined)).toBe("");
});
