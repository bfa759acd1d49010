import { describe, expect, it } from "vitest";
import type { SampleEvent } from "@/api/playground";
import {
  afterEvent,
  ending,
  facts,
  history,
  pendingReply,
  promptOf,
  rewardOf,
  settingsLine,
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

describe("facts of an answer", () => {
  const reply = (events: [Partial<SampleEvent>, number][]) =>
    events.reduce((old, [one, seconds]) => afterEvent(old, event(one), seconds), pendingReply("base"));
  const done = { type: "done", text: "132", tokens: 20, finish_reason: "stop" } as const;

  it("tell loading the model from generating", () => {
    const cold = reply([
      [{ type: "status", message: "Starting the sampler" }, 0.1],
      [{ type: "status", message: "Loading m" }, 4],
      [{ type: "prompt", tokens: 7 }, 25],
      [{ type: "delta", text: "1" }, 25.2],
      [done, 26],
    ]);
    expect(facts(cold)).toBe("20 tokens · 1 s · loading the model 25 s");
  });

  it("call the time in a queue waiting, and say nothing of a short one", () => {
    const queued = reply([
      [{ type: "status", message: "Waiting until another model is done" }, 0.1],
      [{ type: "delta", text: "1" }, 8],
      [done, 10],
    ]);
    expect(facts(queued)).toBe("20 tokens · 2 s · waiting 8 s");
    expect(
      facts(
        reply([
          [{ type: "delta", text: "1" }, 0.4],
          [done, 2],
        ]),
      ),
    ).toBe("20 tokens · 2 s");
  });
});

describe("closed settings", () => {
  it("say what is usual in short and what is not by name", () => {
    const usual = { temperature: 1, topP: 1, maxTokens: 56, seed: 0, stop: "", system: "" };
    expect(settingsLine(usual)).toBe("temperature 1, at most 56 tokens");
    expect(settingsLine({ ...usual, topP: 0.9, seed: 4, system: "Be brief" })).toBe(
      "temperature 1, at most 56 tokens, top p 0.9, seed 4, system message",
    );
  });
});

describe("the reward of a job", () => {
  it("is its first one that is stored and can score an answer", () => {
    const spec = { rewards: [{ reward: null }, { reward: "rew_b" }, { reward: "rew_a" }] };
    expect(rewardOf(spec, [{ id: "rew_b" }, { id: "rew_c" }])).toBe("rew_b");
    expect(rewardOf(spec, [{ id: "rew_c" }])).toBe("");
    expect(rewardOf({}, [{ id: "rew_a" }])).toBe("");
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
