import type { Schemas } from "./client";
import { postStream, type SampleEvent } from "./playground";

export type ChatRequest = Schemas["ChatRequest"];

type Chunk = {
  choices: { index: number; delta: { content?: string | null }; finish_reason: string | null }[];
  usage?: { completion_tokens: number } | null;
  error?: SampleEvent["error"];
};

const event = (more: Partial<SampleEvent>) => more as SampleEvent;

/**
 * Asks a model by its name, as any OpenAI client would, for one completion; tells of it in the events that
 * `sampleStream` has.
 *
 * @throws ApiError as `postStream` does.
 */
export function chatStream(
  body: ChatRequest,
  onEvent: (event: SampleEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let text = "";
  let finish: string | null = null;
  let tokens: number | null = null;
  const onData = (data: string): boolean => {
    if (data === "[DONE]") {
      onEvent(event({ type: "done", prompt: 0, sample: 0, text, tokens, finish_reason: finish }));
      onEvent(event({ type: "end" }));
      return true;
    }
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error) {
      onEvent(event({ type: "error", error: chunk.error }));
      return true;
    }
    tokens = chunk.usage?.completion_tokens ?? tokens;
    for (const { delta, finish_reason: reason } of chunk.choices) {
      finish = reason ?? finish;
      if (!delta.content) continue;
      text += delta.content;
      onEvent(event({ type: "delta", prompt: 0, sample: 0, text: delta.content }));
    }
    return false;
  };
  const streamed = { ...body, stream: true, stream_options: { include_usage: true } };
  return postStream("/v1/chat/completions", streamed, onData, signal);
}
