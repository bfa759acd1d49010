import { isObject } from "@/lib/paths";
import { EMPTY, type SweepDraft } from "./draft";

const KEY = "reinforge-sweep-draft";

/** The draft that this browser has, or an empty one. */
export function loadDraft(): SweepDraft {
  try {
    const draft: unknown = JSON.parse(localStorage.getItem(KEY) ?? "null");
    return isObject(draft) && Array.isArray(draft.varied) ? { ...EMPTY, ...(draft as object) } : EMPTY;
  } catch {
    // Storage that is blocked or holds something else is the same as none.
    return EMPTY;
  }
}

export function saveDraft(draft: SweepDraft): void {
  try {
    if (draft === EMPTY) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // Full or blocked storage costs the draft its reload, nothing else.
  }
}
