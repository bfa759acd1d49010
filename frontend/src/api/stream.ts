import { createParser, type EventSourceMessage } from "eventsource-parser";

/**
 * Server-sent events over `fetch`: resumes with `Last-Event-ID`, reconnects with growing pauses, notices a silent
 * connection. `EventSource` never retries after an HTTP error and hides the state of the connection.
 */

export type StreamState = "connecting" | "live" | "reconnecting" | "ended";

export type StreamOptions = {
  url: string;
  /** Sent as `Last-Event-ID` until a frame brings a newer one. */
  lastId: string;
  onFrame: (frame: EventSourceMessage) => void;
  onState: (state: StreamState) => void;
  /** After the server closed the stream: no reconnect if true. */
  isOver: () => boolean;
  /** The server refuses the stream (4xx); reconnecting would not help. */
  onRefused: (status: number) => void;
};

/** Keep-alives come every 15 s; after this long without a byte the connection is dead. */
const SILENCE_MS = 40_000;
/** Silent for longer than a keep-alive when the tab becomes visible: more likely dead than quiet. */
const DOUBTFUL_MS = 18_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Milliseconds before attempt `attempt` (0, 1, 2 …), with `jitter` in 0…1 so that clients do not return as one. */
export function backoff(attempt: number, jitter: number): number {
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  return pause * (0.5 + 0.5 * jitter);
}

/** Opens the stream and keeps it open until the returned function is called or `isOver` says so. */
export function openStream(options: StreamOptions): () => void {
  let lastId = options.lastId;
  let attempt = 0;
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let current: AbortController | undefined;
  /** Wall clock of the last byte: timers stop while the machine sleeps. */
  let receivedAt = 0;

  const close = () => {
    closed = true;
    clearTimeout(timer);
    current?.abort();
    window.removeEventListener("online", onOnline);
    document.removeEventListener("visibilitychange", hurry);
  };

  const retry = () => {
    if (closed) return;
    options.onState("reconnecting");
    timer = setTimeout(connect, backoff(attempt++, Math.random()));
  };

  /** Reconnects without the rest of the pause: the network is back or the tab is visible again. */
  const hurry = () => {
    if (closed || document.visibilityState === "hidden") return;
    if (current) {
      if (Date.now() - receivedAt > DOUBTFUL_MS) replace();
      return;
    }
    clearTimeout(timer);
    attempt = 0;
    void connect();
  };

  /** Drops a connection; the next one resumes after the last id. */
  const replace = () => {
    attempt = 0;
    current?.abort();
  };

  /** Connections of the previous network are dead. */
  const onOnline = () => (current ? replace() : hurry());

  async function connect(): Promise<void> {
    const abort = new AbortController();
    current = abort;
    let silence: ReturnType<typeof setTimeout> | undefined;
    const received = () => {
      receivedAt = Date.now();
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    const parser = createParser({
      onEvent: (frame) => {
        if (frame.id) lastId = frame.id;
        attempt = 0;
        options.onFrame(frame);
      },
    });
    try {
      received();
      const headers = { accept: "text/event-stream", "last-event-id": lastId };
      const response = await fetch(options.url, {
        headers,
        credentials: "same-origin",
        signal: abort.signal,
      });
      if (response.status >= 400 && response.status < 500) {
        close();
        options.onRefused(response.status);
        return;
      }
      if (response.status === 204) {
        close();
        options.onState("ended");
        return;
      }
      if (!response.ok || !response.body) throw new Error(`stream answered ${response.status}`);
      options.onState("live");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || closed) break;
        received();
        parser.feed(value);
      }
    } catch {
      // The connection broke or went silent: the last id is kept, so the next one continues after it.
    } finally {
      clearTimeout(silence);
      current = undefined;
    }
    if (closed) return;
    if (options.isOver()) {
      close();
      options.onState("ended");
    } else retry();
  }

  window.addEventListener("online", onOnline);
  document.addEventListener("visibilitychange", hurry);
  options.onState("connecting");
  void connect();
  return close;
}
