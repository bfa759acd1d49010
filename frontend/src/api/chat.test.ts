import { afterEach, expect, it, vi } from "vitest";
import { type ChatRequest, chatStream } from "./chat";
import type { SampleEvent } from "./playground";

const BODY = { model: "sums", messages: [{ role: "user", content: "1+1" }] } as unknown as ChatRequest;

async function run(...data: string[]) {
  const sent: string[] = [];
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    sent.push(path, String(init.body));
    return Promise.resolve(new Response(`: waiting\n\n${data.map((one) => `data: ${one}\n\n`).join("")}`));
  });
  const events: SampleEvent[] = [];
  const done = chatStream(BODY, (one) => events.push(one), new AbortController().signal);
  const error = await done.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  return { events, sent, error };
}

const chunk = (content: string | undefined, reason: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: reason }], usage: null });
const USAGE = JSON.stringify({ choices: [], usage: { completion_tokens: 3 } });

afterEach(() => vi.unstubAllGlobals());

it("asks with a stream and tells of it as of any sampling", async () => {
  const { events, sent, error } = await run(
    chunk(""),
    chunk("4"),
    chunk("2"),
    chunk(undefined, "stop"),
    USAGE,
    "[DONE]",
  );
  expect(error).toBeUndefined();
  expect(sent[0]).toBe("/v1/chat/completions");
  expect(JSON.parse(sent[1] as string)).toMatchObject({ model: "sums", stream: true });
  expect(events).toMatchObject([
    { type: "delta", text: "4" },
    { type: "delta", text: "2" },
    { type: "done", text: "42", tokens: 3, finish_reason: "stop" },
    { type: "end" },
  ]);
});

it("hands a failure in the middle on as the last event", async () => {
  const { events, error } = await run(
    chunk("4"),
    JSON.stringify({ error: { code: "serving_lost", message: "Gone." } }),
  );
  expect(error).toBeUndefined();
  expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "serving_lost" } });
});

it("is an error where it ends without saying so", async () => {
  expect((await run(chunk("4"))).error).toMatchObject({ code: "broken_off" });
});
