const APPLE = /Mac|iP(hone|ad|od)/;

/** The key that chords are held with, as this machine's keyboard shows it. */
export const MOD = typeof navigator !== "undefined" && APPLE.test(navigator.platform) ? "⌘" : "Ctrl ";

/** A catalogue key as it is printed: `mod+k` → `⌘K`, `ArrowLeft` → `←`. */
export function keyLabel(key: string): string {
  const NAMED: Record<string, string> = {
    ArrowLeft: "←",
    ArrowRight: "→",
    ArrowUp: "↑",
    ArrowDown: "↓",
    Escape: "Esc",
    Backspace: "⌫",
    Enter: "↵",
    " ": "Space",
  };
  return key.startsWith("mod+") ? MOD + key.slice(4).toUpperCase() : (NAMED[key] ?? key);
}
