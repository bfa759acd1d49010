import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

const PAUSE = 2_000;
/** One failed request is no news (a laptop waking up): a second question decides. */
const FIRST_PAUSE = 400;

type Ask = () => Promise<boolean>;
type Wait = (run: () => void, ms: number) => unknown;

/** Whether the server answers, learned from requests that fail and confirmed by asking again until it does. */
export function createConnection(ask: Ask, wait: Wait = setTimeout) {
  let away = false;
  let asking = false;
  const watchers = new Set<() => void>();
  const tell = (next: boolean) => {
    if (away === next) return;
    away = next;
    for (const notify of watchers) notify();
  };
  const check = () =>
    void ask().then((answers) => {
      tell(!answers);
      if (answers) asking = false;
      else wait(check, PAUSE);
    });
  return {
    isAway: () => away,
    watch(notify: () => void) {
      watchers.add(notify);
      return () => void watchers.delete(notify);
    },
    /** A request got no answer. */
    lost() {
      if (asking) return;
      asking = true;
      wait(check, FIRST_PAUSE);
    },
  };
}

/** Whether the server answers now. */
export async function answers(): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

export const connection = createConnection(answers);

export function useServerAway(): boolean {
  return useSyncExternalStore(connection.watch, connection.isAway);
}

/** Fetches everything on screen again as soon as the server is back. */
export function refreshOnReturn(client: QueryClient): void {
  connection.watch(() => {
    if (!connection.isAway()) void client.invalidateQueries();
  });
}
