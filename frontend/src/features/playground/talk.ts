import type { SampleEvent } from "@/api/playground";
import { count, duration, number } from "@/lib/format";
import { getAt, type JsonObject } from "@/lib/paths";
import { messagesOf, type SampledCall, type Step, type ToolMemory } from "./tool-steps";

export type Sampling = {
  temperature: number;
  topP: number;
  maxTokens: number;
  seed: number;
  /** A stop text as typed; empty for none. */
  stop: string;
  system: string;
};

export type Message = {
  role: string;
  content: string;
  tool_calls?: object[];
  tool_call_id?: string;
  name?: string;
};

/** One side's answer to one turn. */
export type Reply = {
  state: "waiting" | "writing" | "done" | "stopped" | "failed";
  /** What is happening before the first token. */
  status: string;
  text: string;
  tokens: number | null;
  finish: string | null;
  /** Seconds from the request to the last token, loading included. */
  seconds: number | null;
  /** Seconds until the model began with the prompt: in the queue, loading it. */
  waited: number | null;
  /** The model or the adapter had to be loaded first. */
  loaded: boolean;
  error: (Error & { hint?: string | null }) | null;
  /** Which weights wrote it: "base", "step 40". */
  by: string;
  /** Earlier turns of it, whose calls have run. */
  steps: readonly Step[];
  /** Calls of tools in the text; null without tools. */
  calls: readonly SampledCall[] | null;
  /** The text without its calls. */
  content: string | null;
  /** What an environment class added to the prompt. */
  observed: string;
  memory: ToolMemory;
  /** Why the conversation is over after its calls ran; null otherwise. */
  end: string | null;
};

export const SIDES = ["base", "adapter", "second"] as const;
export type Side = (typeof SIDES)[number];

export type Turn = {
  id: number;
  prompt: string;
  /** Asked without what had been said before, as in training. */
  alone: boolean;
  answer: string | null;
  /** The row's columns, for rewards that compare with them; null for a prompt that was typed. */
  item: Record<string, unknown> | null;
  replies: Partial<Record<Side, Reply>>;
};

export const pendingReply = (by: string): Reply => ({
  state: "waiting",
  status: "Waiting for a worker",
  text: "",
  tokens: null,
  finish: null,
  seconds: null,
  waited: null,
  loaded: false,
  error: null,
  by,
  steps: [],
  calls: null,
  content: null,
  observed: "",
  memory: {},
  end: null,
});

/** A whole answer: no call of it waits, and no limit came before its last turn. */
export const isAnswer = ({ state, calls, end }: Reply) =>
  state === "done" && end === null && (calls ?? []).length === 0;

/** Messages of a worker about loading. */
const LOADING = /^(Loading|Starting|Downloading|Fetching|Reading|Looking)/;

/** A reply after one more event of its stream; `seconds` since the request. */
export function afterEvent(reply: Reply, event: SampleEvent, seconds: number): Reply {
  switch (event.type) {
    case "status": {
      const status = event.message ?? reply.status;
      return { ...reply, status, loaded: reply.loaded || LOADING.test(status) };
    }
    case "prompt":
      return { ...reply, waited: reply.waited ?? seconds };
    case "delta":
      return {
        ...reply,
        state: "writing",
        status: "",
        text: reply.text + (event.text ?? ""),
        waited: reply.waited ?? seconds,
      };
    case "done":
      return {
        ...reply,
        state: "done",
        status: "",
        text: event.text ?? reply.text,
        tokens: event.tokens ?? null,
        finish: event.finish_reason ?? null,
        seconds,
        calls: event.calls ?? null,
        content: event.content ?? null,
      };
    default:
      return reply;
  }
}

/** The prompt as the model reads it: `reset` of an environment class may add to it. */
export const promptMessage = (prompt: string, observed: string): Message => ({
  role: "user",
  content: observed === "" ? prompt : `${prompt}\n\n${observed}`,
});

/** What one side has seen so far: its own answers, never the other's. A turn it could not answer is left out. */
export function history(turns: readonly Turn[], side: Side, before: readonly Message[]): Message[] {
  return [
    ...before,
    ...turns.flatMap(({ prompt, replies }) => {
      const reply = replies[side];
      if (!reply || (reply.state !== "done" && reply.text === "")) return [];
      const last = reply.end === null ? [{ role: "assistant", content: reply.text }] : [];
      return [promptMessage(prompt, reply.observed), ...reply.steps.flatMap(messagesOf), ...last];
    }),
  ];
}

/** The system message, if there is one, in the place of one that the row brought. */
export function withSystem(messages: readonly Message[], system: string): Message[] {
  const rest = messages.filter((one) => one.role !== "system");
  return system.trim() === "" ? [...messages] : [{ role: "system", content: system }, ...rest];
}

/** A row's messages as what goes before, and the prompt to send. Null when the last one is not the user's. */
export function promptOf(messages: readonly Message[]): { before: Message[]; prompt: string } | null {
  const last = messages.at(-1);
  if (last?.role !== "user" || typeof last.content !== "string") return null;
  return { before: messages.slice(0, -1), prompt: last.content };
}

/** A stop text as it is typed into one line: `\\n` and `\\t` stand for what they say. */
export const stopOf = (typed: string): string[] =>
  typed === "" ? [] : [typed.replaceAll("\\n", "\n").replaceAll("\\t", "\t")];

/** The reason a completion ended, in words; "" for the usual one. */
export function ending(finish: string | null): string {
  if (finish === "length") return "truncated";
  return finish === null || finish === "stop" ? "" : finish;
}

/** Shorter waits are not worth a word. */
const NOTABLE_SECONDS = 1;

/** "20 tokens · 0.8 s · loading the model 25 s": generation by itself, and what came before it. */
export function facts({ tokens, seconds, waited, loaded, finish, state }: Reply): string {
  if (state === "stopped") return "stopped";
  const before = waited !== null && waited >= NOTABLE_SECONDS ? waited : 0;
  return [
    tokens === null ? "" : count(tokens, "token"),
    seconds === null ? "" : duration(seconds - before),
    before === 0 ? "" : `${loaded ? "loading the model" : "waiting"} ${duration(before)}`,
    ending(finish),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** What the closed settings say: the usual values are not mentioned. */
export function settingsLine({ temperature, topP, maxTokens, seed, stop, system }: Sampling): string {
  return [
    `temperature ${number(temperature)}`,
    `at most ${count(maxTokens, "token")}`,
    topP === 1 ? "" : `top p ${number(topP)}`,
    seed === 0 ? "" : `seed ${seed}`,
    stop === "" ? "" : "stop sequence",
    system.trim() === "" ? "" : "system message",
  ]
    .filter(Boolean)
    .join(", ");
}

/** One sentence for those who hear the page, when every side of a turn has ended: never while the text grows. */
export function spoken(turn: Turn | undefined): string {
  const replies = Object.values(turn?.replies ?? {});
  if (replies.some(({ state }) => state === "waiting" || state === "writing")) return "";
  return replies
    .map(
      ({ by, state, text, error }) =>
        `${by} ${state === "failed" ? `failed: ${error?.message}` : `said: ${text}`}`,
    )
    .join(". ");
}

/** The first reward of a job's specification that is stored and scores single completions; "" for none. */
export function rewardOf(spec: JsonObject, rewards: readonly { id: string }[]): string {
  const list = getAt(spec, "rewards");
  const ids = Array.isArray(list) ? list.map((one) => getAt(one as JsonObject, "reward")) : [];
  return rewards.find(({ id }) => ids.includes(id))?.id ?? "";
}
