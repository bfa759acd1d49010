import { useCallback, useEffect, useRef, useState } from "react";
import { chatStream } from "@/api/chat";
import { ApiError } from "@/api/client";
import { type SampleEvent, sampleError, sampleStream } from "@/api/playground";
import { runTools, type ToolSchema } from "@/api/tools";
import {
  afterEvent,
  history,
  type Message,
  pendingReply,
  promptMessage,
  type Reply,
  type Sampling,
  type Side,
  stopOf,
  type Turn,
  withSystem,
} from "./talk";
import { afterRun, type Environment, messagesOf, runRequest, starts } from "./tool-steps";

/** A side that takes part: its name in words, and its deployment or its checkpoint unless it is the base. */
export type Seat = { side: Side; by: string; checkpoint: string | null; deployment?: string };

type Hear = (event: SampleEvent) => void;

/** The tools of a job: what its model may call, and how calls run. */
export type JobTools = {
  environment: Environment;
  schemas: readonly ToolSchema[];
  /** Run calls without being asked, until an answer has none. */
  automatic: boolean;
};

type Request = {
  model: string;
  messages: Message[];
  sampling: Sampling;
  schemas: readonly ToolSchema[] | null;
};

/** Samples the reply of a seat; requests to a deployment are metered like any client's, and have no tools. */
function sampled(seat: Seat, request: Request, onEvent: Hear, signal: AbortSignal): Promise<void> {
  const { model, messages, sampling, schemas } = request;
  const { temperature, topP, maxTokens, seed, stop } = sampling;
  const alike = { temperature, top_p: topP, seed, stop: stopOf(stop) };
  if (seat.deployment !== undefined) {
    const body = { ...alike, model: seat.deployment, messages, max_completion_tokens: maxTokens };
    return chatStream(body, onEvent, signal);
  }
  const own = { model, checkpoint: seat.checkpoint, prompts: [messages], samples_per_prompt: 1 };
  const tools =
    schemas && schemas.length > 0 ? { tools: schemas as unknown as Record<string, unknown>[] } : {};
  return sampleStream({ ...alike, ...own, ...tools, max_tokens: maxTokens }, onEvent, signal);
}

const ended = (reply: Reply) => reply.state !== "waiting" && reply.state !== "writing";

const failed = (reply: Reply, error: unknown): Reply => ({
  ...reply,
  state: "failed",
  status: "",
  error: error instanceof ApiError ? error : new ApiError(500, "unexpected", String(error)),
});

/** One reply while it is sampled: `put` shows its newest state. */
type Place = {
  turn: Turn;
  seat: Seat;
  earlier: Message[];
  sampling: Sampling;
  signal: AbortSignal;
  put: (reply: Reply) => Reply;
};

/** Conversations kept in step: each turn is sampled by every seat, with the same seed. */
export function useTalk(model: string | undefined, tools: JobTools | null) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [before, setBefore] = useState<Message[]>([]);
  const abort = useRef<AbortController>(null);
  const next = useRef(1);
  const latest = useRef(tools);
  useEffect(() => {
    latest.current = tools;
  });
  useEffect(() => () => abort.current?.abort(), []);

  const put = useCallback((turn: number, side: Side, reply: Reply): Reply => {
    setTurns((old) =>
      old.map((one) =>
        one.id === turn && one.replies[side] ? { ...one, replies: { ...one.replies, [side]: reply } } : one,
      ),
    );
    return reply;
  }, []);

  const sample = async (place: Place, start: Reply): Promise<Reply> => {
    const { turn, seat, earlier, sampling, signal } = place;
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1000;
    const messages = [
      ...earlier,
      promptMessage(turn.prompt, start.observed),
      ...start.steps.flatMap(messagesOf),
    ];
    const request = {
      model: model ?? "",
      messages: withSystem(messages, sampling.system),
      sampling,
      schemas: latest.current?.schemas ?? null,
    };
    let reply = start;
    const onEvent = (event: SampleEvent) => {
      const error = event.type === "error";
      reply = place.put(error ? failed(reply, sampleError(event)) : afterEvent(reply, event, seconds()));
    };
    try {
      await sampled(seat, request, onEvent, signal);
      // Whatever ended it, a stream that is over leaves nothing waiting.
      return ended(reply) ? reply : place.put({ ...reply, state: "stopped", status: "" });
    } catch (error) {
      return place.put(failed(reply, error));
    }
  };

  /** Begins an environment class, whose `reset` may add to the prompt. */
  const begin = async (place: Place, reply: Reply, environment: Environment): Promise<Reply> => {
    const { turn, sampling, signal } = place;
    const {
      start,
      state,
      history: past,
    } = await runTools({ environment, start: true, item: turn.item ?? {}, seed: sampling.seed }, signal);
    if (start?.status !== "ok") throw new ApiError(422, "reset_failed", `reset failed: ${start?.text ?? ""}`);
    return { ...reply, observed: start.text ?? "", memory: { state, history: past } };
  };

  /** Runs the calls of a reply and samples its next turn. */
  const step = async (place: Place, reply: Reply, environment: Environment): Promise<Reply> => {
    const { turn, sampling, signal } = place;
    const running = place.put({ ...reply, state: "waiting", status: "Running the calls" });
    try {
      const request = runRequest(environment, reply, turn.item, model ?? "", sampling.seed);
      const after = place.put(afterRun(reply, await runTools(request, signal)));
      return after.end === null ? await sample(place, after) : after;
    } catch (error) {
      const stopped = signal.aborted ? { ...running, state: "done" as const, status: "" } : null;
      return place.put(stopped ?? failed(running, error));
    }
  };

  const goOn = async (place: Place, reply: Reply) => {
    let current = reply;
    while (
      latest.current?.automatic &&
      current.state === "done" &&
      current.calls &&
      current.calls.length > 0
    ) {
      current = await step(place, current, latest.current.environment);
    }
  };

  const placeOf = (turn: Turn, seat: Seat, earlierTurns: readonly Turn[], sampling: Sampling): Place => ({
    turn,
    seat,
    sampling,
    earlier: history(turn.alone ? [] : earlierTurns, seat.side, before),
    signal: abort.current?.signal as AbortSignal,
    put: (reply) => put(turn.id, seat.side, reply),
  });

  const answer = async (place: Place) => {
    const environment = place.seat.deployment === undefined ? latest.current?.environment : undefined;
    let reply = pendingReply(place.seat.by);
    try {
      if (environment && starts(environment)) reply = place.put(await begin(place, reply, environment));
      await goOn(place, await sample(place, reply));
    } catch (error) {
      if (!place.signal.aborted) place.put(failed(reply, error));
      else place.put({ ...reply, state: "stopped", status: "" });
    }
  };

  const run = (turn: Turn, earlier: readonly Turn[], seats: readonly Seat[], sampling: Sampling) => {
    abort.current?.abort();
    abort.current = new AbortController();
    const replies = Object.fromEntries(seats.map((seat) => [seat.side, pendingReply(seat.by)]));
    setTurns([...earlier, { ...turn, replies }]);
    for (const seat of seats) void answer(placeOf(turn, seat, earlier, sampling));
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
    /** Runs the calls of the last turn's reply of a seat, and samples what follows. */
    runCalls: (seat: Seat, sampling: Sampling) => {
      const last = turns.at(-1);
      const reply = last?.replies[seat.side];
      if (!last || !reply || !tools) return;
      // The other seat may be on its way: both stop together.
      if (!abort.current || abort.current.signal.aborted) abort.current = new AbortController();
      const place = placeOf(last, seat, turns.slice(0, -1), sampling);
      void step(place, reply, tools.environment).then((after) => goOn(place, after));
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
