import { useCallback, useEffect, useRef, useState } from "react";
import { chatStream } from "@/api/chat";
import { ApiError } from "@/api/client";
import { type SampleEvent, sampleError, sampleStream } from "@/api/playground";
import {
  afterEvent,
  history,
  type Message,
  pendingReply,
  type Reply,
  type Sampling,
  type Side,
  stopOf,
  type Turn,
  withSystem,
} from "./talk";

/** A side that takes part: its name in words, and its deployment or its checkpoint unless it is the base. */
export type Seat = { side: Side; by: string; checkpoint: string | null; deployment?: string };

type Hear = (event: SampleEvent) => void;

/** Samples the reply of a seat; requests to a deployment are metered like any client's. */
function sampled(
  seat: Seat,
  model: string,
  messages: Message[],
  { temperature, topP, maxTokens, seed, stop }: Sampling,
  onEvent: Hear,
  signal: AbortSignal,
): Promise<void> {
  const alike = { temperature, top_p: topP, seed, stop: stopOf(stop) };
  if (seat.deployment !== undefined) {
    const body = { ...alike, model: seat.deployment, messages, max_completion_tokens: maxTokens };
    return chatStream(body, onEvent, signal);
  }
  const own = { model, checkpoint: seat.checkpoint, prompts: [messages], samples_per_prompt: 1 };
  return sampleStream({ ...alike, ...own, max_tokens: maxTokens }, onEvent, signal);
}

const ended = (reply: Reply) => reply.state !== "waiting" && reply.state !== "writing";

/** Two conversations kept in step: each turn is sampled by every seat, with the same seed. */
export function useTalk(model: string | undefined) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [before, setBefore] = useState<Message[]>([]);
  const abort = useRef<AbortController>(null);
  const next = useRef(1);
  useEffect(() => () => abort.current?.abort(), []);

  const patch = useCallback((turn: number, side: Side, how: (reply: Reply) => Reply) => {
    setTurns((old) =>
      old.map((one) => {
        const reply = one.replies[side];
        return one.id === turn && reply ? { ...one, replies: { ...one.replies, [side]: how(reply) } } : one;
      }),
    );
  }, []);

  const sample = async (
    turn: number,
    seat: Seat,
    messages: Message[],
    sampling: Sampling,
    signal: AbortSignal,
  ) => {
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1000;
    try {
      await sampled(
        seat,
        model ?? "",
        withSystem(messages, sampling.system),
        sampling,
        (event) => {
          patch(turn, seat.side, (reply) =>
            event.type === "error"
              ? { ...reply, state: "failed", status: "", error: sampleError(event) }
              : afterEvent(reply, event, seconds()),
          );
        },
        signal,
      );
      // Whatever ended it, a stream that is over leaves nothing waiting.
      patch(turn, seat.side, (reply) => (ended(reply) ? reply : { ...reply, state: "stopped", status: "" }));
    } catch (error) {
      const fault = error instanceof ApiError ? error : new ApiError(500, "unexpected", String(error));
      patch(turn, seat.side, (reply) => ({ ...reply, state: "failed", status: "", error: fault }));
    }
  };

  const run = (turn: Turn, earlier: readonly Turn[], seats: readonly Seat[], sampling: Sampling) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    const replies = Object.fromEntries(seats.map((seat) => [seat.side, pendingReply(seat.by)]));
    setTurns([...earlier, { ...turn, replies }]);
    for (const seat of seats) {
      const earlierMessages = history(turn.alone ? [] : earlier, seat.side, before);
      const messages = [...earlierMessages, { role: "user", content: turn.prompt }];
      void sample(turn.id, seat, messages, sampling, controller.signal);
    }
  };

  const busy = turns.some((turn) => Object.values(turn.replies).some((reply) => !ended(reply)));
  return {
    turns,
    before,
    busy,
    send: (
      asking: Pick<Turn, "prompt" | "answer" | "item" | "alone">,
      seats: readonly Seat[],
      sampling: Sampling,
    ) => run({ ...asking, id: next.current++, replies: {} }, turns, seats, sampling),
    /** Samples the last turn again, for a changed checkpoint or seed. */
    again: (seats: readonly Seat[], sampling: Sampling) => {
      const last = turns.at(-1);
      if (last) run({ ...last, id: next.current++ }, turns.slice(0, -1), seats, sampling);
    },
    stop: () => abort.current?.abort(),
    /** A new conversation that begins with these messages. */
    clear: (messages: Message[] = []) => {
      abort.current?.abort();
      setTurns([]);
      setBefore(messages);
    },
  };
}
