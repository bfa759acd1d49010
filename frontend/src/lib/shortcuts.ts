/**
 * Keyboard shortcuts. A screen says which keys of its scope do what while it is mounted:
 *
 *   useShortcuts("completions", { j: next, k: previous, d: canDiff ? toggleDiff : undefined });
 *
 * Names of scopes, keys and their words stand in `shortcut-catalogue.ts` (add a line there for a new key; `?` shows
 * it by itself). Handlers may be new functions at each render. Keys never fire while the person types or a dialog
 * is open; the screen that was mounted last wins a key that two screens want. `undefined` leaves a key alone.
 */
import { useEffect, useRef, useSyncExternalStore } from "react";
import type { ShortcutKey, ShortcutScope } from "./shortcut-catalogue";

export type Handlers = Readonly<Record<string, (() => void) | undefined>>;

/** The part of a KeyboardEvent that decides. */
export type KeyPress = Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey" | "altKey" | "isComposing">;

/** The catalogue's name of what was pressed; null for chords that the page leaves to the browser. */
export function nameOf(press: KeyPress): string | null {
  if (press.isComposing || press.altKey) return null;
  return press.metaKey || press.ctrlKey ? `mod+${press.key.toLowerCase()}` : press.key;
}

export const isSingle = (name: string) => [...name].length === 1;

const TYPING =
  "input:not([type=checkbox],[type=radio],[type=range],[type=button],[type=submit]),textarea,select," +
  "[contenteditable]:not([contenteditable=false]),[role=textbox],[role=combobox],[role=listbox],[role=menu]";

/** Whether letters belong to the element itself: text fields, editors, lists with type-ahead. */
export function isTyping(target: EventTarget | null): boolean {
  const element = target as Partial<Element> | null;
  return typeof element?.closest === "function" && element.closest(TYPING) !== null;
}

/** What is listening now; the newest first, so that a dialog or tab goes before the screen below it. */
export function createRegistry() {
  let entries: readonly { scope: ShortcutScope; handlers: () => Handlers; inDialog: boolean }[] = [];
  return {
    add(scope: ShortcutScope, handlers: () => Handlers, inDialog = false) {
      const entry = { scope, handlers, inDialog };
      entries = [entry, ...entries];
      return () => {
        entries = entries.filter((one) => one !== entry);
      };
    },
    /** The handler of a key, or undefined. */
    find(name: string, dialogOpen = false): (() => void) | undefined {
      for (const { handlers, inDialog } of entries) {
        if (dialogOpen && !inDialog) continue;
        const run = handlers()[name];
        if (run) return run;
      }
      return undefined;
    },
  };
}

const registry = createRegistry();
const STORED = "reinforge-single-keys";
const watchers = new Set<() => void>();

const singleKeysOn = () => localStorage.getItem(STORED) !== "off";

function watch(notify: () => void) {
  watchers.add(notify);
  return () => watchers.delete(notify);
}

/** Whether single-letter shortcuts are on, and the switch; kept in this browser. */
export function useSingleKeys(): readonly [boolean, (on: boolean) => void] {
  const on = useSyncExternalStore(watch, singleKeysOn);
  const set = (next: boolean) => {
    localStorage.setItem(STORED, next ? "on" : "off");
    for (const notify of watchers) notify();
  };
  return [on, set];
}

/** Listens for all shortcuts; called once, by the shell. */
export function listenForShortcuts(target: Window): () => void {
  const onKey = (event: KeyboardEvent) => {
    const name = nameOf(event);
    if (name === null || event.defaultPrevented) return;
    const chord = name.startsWith("mod+");
    if (!chord && isTyping(event.target)) return;
    if (isSingle(name) && !singleKeysOn()) return;
    const run = registry.find(name, target.document.querySelector('[aria-modal="true"]') !== null);
    if (!run) return;
    event.preventDefault();
    run();
  };
  target.addEventListener("keydown", onKey);
  return () => target.removeEventListener("keydown", onKey);
}

/** Keys of one scope while the component is mounted. `inDialog`: they also work while a dialog is open. */
export function useShortcuts<Scope extends ShortcutScope>(
  scope: Scope,
  handlers: Partial<Record<ShortcutKey<Scope>, (() => void) | undefined>>,
  { inDialog = false }: { inDialog?: boolean } = {},
): void {
  const latest = useRef<Handlers>(handlers as Handlers);
  useEffect(() => {
    latest.current = handlers as Handlers;
  });
  useEffect(() => registry.add(scope, () => latest.current, inDialog), [scope, inDialog]);
}
