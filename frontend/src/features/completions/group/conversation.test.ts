import { describe, expect, it } from "vitest";
import type { Completion } from "@/api/completions";
import { branchTitle, conversationOf, firstDifference, spansOf, type Turn, turnKey } from "./conversation";

const call = (result: string, milliseconds = 1) =>
  ({ id: "call_0", name: "add", arguments: "{}", status: "ok", result, milliseconds }) as const;
const turn = (no: number, text: string, result?: string, milliseconds?: number): Turn => ({
  no,
  start: no * 10,
  end: no * 10 + 6,
  text,
  calls: result === undefined ? [] : [call(result, milliseconds)],
});

describe("the first difference of conversations", () => {
  it("is the turn whose text, calls or number differ", () => {
    const same = turn(0, "a", "1");
    expect(
      firstDifference([
        [same, turn(1, "b")],
        [same, turn(1, "c")],
      ]),
    ).toBe(1);
    expect(
      firstDifference([
        [same, turn(1, "b")],
        [turn(0, "a", "2"), turn(1, "b")],
      ]),
    ).toBe(0);
    expect(firstDifference([[same], [same, turn(1, "b")]])).toBe(1);
  });

  it("is none for equal conversations, whatever time they took, and for one", () => {
    expect(firstDifference([[turn(0, "a", "1", 3)], [turn(0, "a", "1", 9)]])).toBeNull();
    expect(firstDifference([[turn(0, "a")]])).toBeNull();
    expect(firstDifference([])).toBeNull();
  });
});

describe("the reply of a simulated user", () => {
  const replied = (text: string, ended = false, milliseconds = 1): Turn => ({
    ...turn(0, "a"),
    reply: { status: "ok", text, ended, milliseconds },
  });

  it("tells turns apart, the time that it took does not", () => {
    expect(turnKey(replied("b"))).not.toBe(turnKey(replied("c")));
    expect(turnKey(replied(""))).not.toBe(turnKey(replied("", true)));
    expect(turnKey(replied("b"))).toBe(turnKey(replied("b", false, 9)));
    expect(turnKey(replied("b"))).not.toBe(turnKey(turn(0, "a")));
  });
});

describe("the tokens of a conversation", () => {
  it("are the policy's within turns, and others between them", () => {
    expect(spansOf([turn(0, "a", "1"), turn(1, "b")])).toEqual([
      { policy: true, tokens: 6, turn: 0 },
      { policy: false, tokens: 4, turn: 0 },
      { policy: true, tokens: 6, turn: 1 },
    ]);
    expect(spansOf([])).toEqual([]);
  });
});

describe("the heading of another conversation of a rollout", () => {
  it("says why it began, also for a reason that a newer server has", () => {
    expect(branchTitle({ branch: 1, reason: "sub_agent" })).toBe("Conversation 2: sub-agent");
    expect(branchTitle({ branch: 0, reason: "other" })).toBe("Conversation 1: other");
    expect(branchTitle({ branch: 2, reason: null })).toBe("Conversation 3");
  });
});

describe("a conversation of a rollout", () => {
  const other = { branch: 1, share: 0.4, text: "b", tokens: ["b"] };
  const completion = { sample_no: 3, branch: 0, text: "a", tokens: ["a"], branches: [other] };

  it("has its own text and tokens, and the place of the completion", () => {
    expect(conversationOf(completion as unknown as Completion, 1)).toMatchObject({
      sample_no: 3,
      text: "b",
      tokens: ["b"],
    });
    expect(conversationOf(completion as unknown as Completion, null).tokens).toEqual(["a"]);
  });
});
