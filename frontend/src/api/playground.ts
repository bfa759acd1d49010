import { createParser } from "eventsource-parser";
import { ApiError, reach, type Schemas, toApiError } from "./client";

export type SampleRequest = Schemas["SampleRequest"];
export type SampleEvent = Schemas["SampleEvent"];

const BROKEN_OFF = new ApiError(
  0,
  "broken_off",
  "The connection was lost before sampling finished.",
  "Partial output is shown. Sample again for the rest.",
);

/** A message of the `error` event, as the error that a request without a stream would have ended in. */
export const sampleError = (event: SampleEvent): ApiError => toApiError(500, { error: event.error });

/**
 * Posts and hands on the data of every server-sent event, until `onData` says that it was the last one or `signal`
 * aborts, which also stops the sampling.
 *
 * @throws ApiError when the request is refused, nobody answers, or the stream ends before its last event.
 */
export async function postStream(
  path: string,
  body: object,
  onData: (data: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  let over = false;
  const parser = createParser({
    onEvent: ({ data }) => {
      if (!over && !signal.aborted) over = onData(data);
    },
  });
  try {
    const response = await reach(path, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      credentials: "same-origin",
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok) throw toApiError(response.status, await response.json().catch(() => null));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (reader && !over) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(value);
    }
    await reader?.cancel();
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof ApiError ? error : BROKEN_OFF;
  }
  if (!over && !signal.aborted) throw BROKEN_OFF;
}

/**
 * Samples on a worker and calls `onEvent` for every event, in order. Resolves after `end`, after `error` (which is an
 * event like the others: `sampleError` reads it) and when `signal` aborts.
 *
 * @throws ApiError as `postStream` does.
 */
export function sampleStream(
  body: SampleRequest,
  onEvent: (event: SampleEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const onData = (data: string) => {
    const event = JSON.parse(data) as SampleEvent;
    onEvent(event);
    return event.type === "end" || event.type === "error";
  };
  return postStream("/api/v1/sample", body, onData, signal);
}
