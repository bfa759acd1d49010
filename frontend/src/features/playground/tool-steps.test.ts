import { describe, expect, it } from "vitest";
import type { ToolRunCall } from "@/api/tools";
import { afterEvent, history, isAnswer, pendingReply, type Turn } from "./talk";
import { afterRun, type Environment, environmentOf, messagesOf, runRequest, starts } from "./tool-steps";

const environment = { type: "tools", sources: [{ type: "python", source: "x" }] } as unknown as Environment;
const call: ToolRunCall = { id: "call_0", name: "add", arguments: '{"a":1}', status: "ok", result: "2" };
const called = afterEvent(
  pendingReply("base"),
  { type: "done", text: "<call>", content: "", calls: [{ name: "add", arguments: '{"a":1}' }] },
  1,
);

describe("a reply with calls", () => {
  it("runs its calls where the conversation is", () => {
    const first = runRequest(environment, called, { answer: "2" }, "tiny", 3);
    expect(first).toMatchObject({ item: { answer: "2" }, model: "tiny", seed: 3, turn: 0, calls_before: 0 });
    const next = afterRun(called, { calls: [call], state: "{}", history: [] });
    expect(next).toMatchObject({ state: "waiting", text: "", calls: null, end: null });
    const again = { ...next, calls: [{ name: "add", arguments: "{}" }] };
    expect(runRequest(environment, again, null, "tiny", 3)).toMatchObject({
      turn: 1,
      calls_before: 1,
      state: "{}",
      history: [],
    });
  });

  it("ends where a job's rollout would", () => {
    const ended = afterRun(called, { calls: [call], end: "max_turns", history: [] });
    expect(ended).toMatchObject({ state: "done", end: "max_turns" });
    expect([isAnswer(called), isAnswer(ended), isAnswer({ ...called, calls: [] })]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("shows the model its calls and results in the next turns", () => {
    const step = afterRun(called, { calls: [call], history: [] }).steps[0];
    const written = { id: "call_0", type: "function", function: { name: "add", arguments: '{"a":1}' } };
    const messages = [
      { role: "assistant", content: "", tool_calls: [written] },
      { role: "tool", tool_call_id: "call_0", name: "add", content: "2" },
    ];
    expect(step && messagesOf(step)).toEqual(messages);
    const reply = { ...pendingReply("base"), steps: step ? [step] : [], text: "2", state: "done" as const };
    const turn: Turn = {
      id: 1,
      prompt: "1+1",
      alone: false,
      answer: null,
      item: null,
      replies: { base: { ...reply, observed: "Begin." } },
    };
    expect(history([turn], "base", [])).toEqual([
      { role: "user", content: "1+1\n\nBegin." },
      ...messages,
      { role: "assistant", content: "2" },
    ]);
  });
});

describe("the environment of a job", () => {
  it("is one with tools", () => {
    expect(environmentOf({ environment: { type: "single_turn" } })).toBeNull();
    expect(environmentOf({ environment: { type: "tools", sources: [] } })).toBeNull();
    expect(environmentOf(undefined)).toBeNull();
    const tools = environmentOf({
      environment: { type: "tools", sources: [{ type: "class", source: "x" }] },
    });
    expect(tools && starts(tools)).toBe(true);
  });
});
