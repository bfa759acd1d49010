import type { SampleEvent } from "@/api/playground";

export type Message = { role: string; content: string };

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
  error: (Error & { hint?: string | null }) | null;
  /** Which weights wrote it: "base", "step 40". */
  by: string;
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
  error: null,
  by,
});

/** A reply after one more event of its stream; `seconds` since the request. */
export function afterEvent(reply: Reply, event: SampleEvent, seconds: number): Reply {
  switch (event.type) {
    case "status":
      return { ...reply, status: event.message ?? reply.status };
    case "delta":
      return { ...reply, state: "writing", status: "", text: reply.text + (event.text ?? "") };
    case "done":
      return {
        ...reply,
        state: "done",
        status: "",
        text: event.text ?? reply.text,
        tokens: event.tokens ?? null,
        finish: event.finish_reason ?? null,
        seconds,
      };
    default:
      return reply;
  }
}

/** What one side has seen so far: its own answers, never the other's. A turn it could not answer is left out. */
export function history(turns: readonly Turn[], side: Side, before: readonly Message[]): Message[] {
  return [
    ...before,
    ...turns.flatMap(({ prompt, replies }) => {
      const reply = replies[side];
      if (!reply || (reply.state !== "done" && reply.text === "")) return [];
      return [
        { role: "user", content: prompt },
        { role: "assistant", content: reply.text },
      ];
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
