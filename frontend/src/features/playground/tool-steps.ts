/** Turns with calls of tools: what ran, what the model reads next, and what the next calls continue. */
import type { SampleEvent } from "@/api/playground";
import type { ToolRunCall, ToolRunRequest, ToolRunResult } from "@/api/tools";
import { getAt, isObject, type JsonObject } from "@/lib/paths";
import type { Message, Reply } from "./talk";

export type SampledCall = NonNullable<SampleEvent["calls"]>[number];

/** A turn of the model whose calls have run. */
export type Step = { text: string; content: string; calls: readonly ToolRunCall[] };

/** What the sandbox needs to continue a conversation. */
export type ToolMemory = Pick<ToolRunRequest, "state" | "history">;

export type Environment = ToolRunRequest["environment"];

/** The environment of a job with tools; null for all others. */
export function environmentOf(spec: JsonObject | undefined): Environment | null {
  const environment = getAt(spec, "environment");
  if (!isObject(environment) || environment.type !== "tools") return null;
  const sources = environment.sources;
  return Array.isArray(sources) && sources.length > 0 ? (environment as unknown as Environment) : null;
}

/** Whether `reset` of a class begins each conversation. */
export const starts = (environment: Environment) =>
  (environment.sources ?? []).some((source) => source.type === "class");

/** What the model wrote in a turn and what its calls returned, as messages. */
export function messagesOf({ content, calls }: Step): Message[] {
  const written = calls.map(({ id, name, arguments: text }) => ({
    id,
    type: "function",
    function: { name, arguments: text },
  }));
  return [
    { role: "assistant", content, tool_calls: written },
    ...calls.map(({ id, name, result = "" }) => ({ role: "tool", tool_call_id: id, name, content: result })),
  ];
}

/** The request that runs the calls of a reply's last turn. */
export function runRequest(
  environment: Environment,
  reply: Reply,
  item: Record<string, unknown> | null,
  model: string,
  seed: number,
): ToolRunRequest {
  return {
    environment,
    calls: (reply.calls ?? []).map(({ name, arguments: text, error }) => ({ name, arguments: text, error })),
    item: item ?? {},
    model,
    seed,
    turn: reply.steps.length,
    calls_before: reply.steps.reduce((sum, { calls }) => sum + calls.length, 0),
    ...reply.memory,
  };
}

/** A reply whose calls have run: it waits for its next turn, unless a limit ends it. */
export function afterRun(reply: Reply, result: ToolRunResult): Reply {
  const step = { text: reply.text, content: reply.content ?? "", calls: result.calls ?? [] };
  const end = result.end ?? null;
  return {
    ...reply,
    steps: [...reply.steps, step],
    memory: { state: result.state, history: result.history },
    text: "",
    content: null,
    calls: null,
    end,
    state: end === null ? "waiting" : "done",
    status: end === null ? "Waiting for a worker" : "",
    tokens: null,
    seconds: null,
    waited: null,
    loaded: false,
  };
}

const ENDS: Record<string, string> = {
  max_turns: "The conversation has used all of its turns (max_turns).",
  max_tool_calls: "The conversation has used all of its tool calls (max_tool_calls).",
  environment: "A tool call ended the conversation, as the tools of the job define.",
};

export const endWords = (end: string) => ENDS[end] ?? `The conversation ended: ${end}.`;
