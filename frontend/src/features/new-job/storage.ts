import { isObject } from "@/lib/paths";
import type { Draft } from "./draft";

const KEY = "reinforge-job-draft";

/** Survives a reload of the page and a closed tab; kept in this browser only. */
export type Stored = { draft: Draft; at: string };

export function loadDraft(): Stored | null {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "null") as Stored | null;
    return stored && isObject(stored.draft) && Object.keys(stored.draft).length > 0 ? stored : null;
  } catch {
    // Storage that is blocked or holds something else is the same as none.
    return null;
  }
}

export function saveDraft(draft: Draft): void {
  try {
    if (Object.keys(draft).length === 0) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify({ draft, at: new Date().toISOString() } satisfies Stored));
  } catch {
    // Full or blocked storage costs the draft its reload, nothing else.
  }
}
