import { afterEach, expect, it, vi } from "vitest";
import type { ApiError } from "./client";
import { type SampleEvent, type SampleRequest, sampleError, sampleStream } from "./playground";

const BODY = { model: "m", prompts: [[{ role: "user", content: "1+1" }]] } as unknown as SampleRequest;
const EVENTS = [
  { type: "status", message: "Loading m" },
  { type: "delta", prompt: 0, sample: 0, text: "zwei ü" },
  { type: "done", prompt: 0, sample: 0, text: "zwei ü", tokens: 3, finish_reason: "stop" },
  { type: "end" },
];
const frames = (events: readonly object[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

/** A response whose body comes in pieces of `size` bytes. */
function answer(text: string, size = 7, status = 200): Response {
  const all = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (let at = 0; at < all.length; at += size) controller.enqueue(all.slice(at, at + size));
      controller.close();
    },
  });
  return new Response(body, { status });
}

async function run(response: Response | Promise<Response>, signal = new AbortController().signal) {
  vi.stubGlobal("fetch", () => Promise.resolve(response));
  const events: SampleEvent[] = [];
  let error: ApiError | undefined;
  await sampleStream(BODY, (event) => events.push(event), signal).catch((thrown: ApiError) => {
    error = thrown;
  });
  return { events, error };
}

afterEach(() => vi.unstubAllGlobals());

it("gives every event in order, however the bytes are cut", async () => {
  for (const size of [1, 7, 10_000]) {
    expect(await run(answer(`: hello\n\n${frames(EVENTS)}`, size))).toEqual({
      events: EVENTS,
      error: undefined,
    });
  }
});

it("throws the refusal's own error", async () => {
  const envelope = { error: { code: "no_worker", message: "No worker.", hint: "Start one." } };
  const { events, error } = await run(answer(JSON.stringify(envelope), 7, 503));
  expect(events).toEqual([]);
  expect(error).toMatchObject({ status: 503, code: "no_worker", message: "No worker.", hint: "Start one." });
});

it("hands an error event on and ends there", async () => {
  const failed = { type: "error", error: { code: "too_long", message: "Too long." } };
  const { events, error } = await run(answer(frames([failed, ...EVENTS])));
  expect(events).toEqual([failed]);
  expect(error).toBeUndefined();
  expect(sampleError(events[0] as SampleEvent)).toMatchObject({
    code: "too_long",
    message: "Too long.",
    offline: false,
  });
});

it("says when the stream broke off", async () => {
  const { events, error } = await run(answer(frames(EVENTS.slice(0, 2))));
  expect(events).toHaveLength(2);
  expect(error).toMatchObject({ code: "broken_off" });
});

it("says when nobody answers", async () => {
  const { error } = await run(Promise.reject(new TypeError("failed to fetch")));
  expect(error?.offline).toBe(true);
});

it("ends quietly when it is stopped", async () => {
  const stop = new AbortController();
  stop.abort();
  const { events, error } = await run(Promise.reject(new DOMException("", "AbortError")), stop.signal);
  expect({ events, error }).toEqual({ events: [], error: undefined });
});
