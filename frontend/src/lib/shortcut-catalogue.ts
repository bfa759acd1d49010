/**
 * Every key of the page, by screen: what `?` shows and what `useShortcuts` accepts.
 *
 * A key is what `KeyboardEvent.key` says ("j", "?", "ArrowLeft", "Escape"), with `mod+` for ⌘ on a Mac and Ctrl
 * elsewhere. One character without `mod+` is a single-letter shortcut: it can be turned off in the settings.
 */
export const SHORTCUTS = {
  everywhere: {
    title: "Everywhere",
    keys: { "mod+k": "Go to anything", "?": "Show keyboard shortcuts", c: "New job" },
  },
  lists: {
    title: "Lists",
    keys: { j: "Next row", k: "Previous row", "/": "Filter by text" },
  },
  job: {
    title: "Job",
    keys: { "[": "Previous tab", "]": "Next tab" },
  },
  charts: {
    title: "Charts",
    keys: {
      ArrowLeft: "Previous point",
      ArrowRight: "Next point",
      Enter: "Completions of this step",
      "+": "Zoom in around the point",
      Backspace: "Zoom back",
      Escape: "Zoom back",
      l: "Log axis on or off",
      s: "Smoothing on or off",
      x: "X axis: steps, time or tokens",
    },
  },
  completions: {
    title: "Completions",
    keys: {
      j: "Next completion",
      k: "Previous completion",
      n: "Next step",
      p: "Previous step",
      g: "All completions of the prompt",
      d: "Compare with an earlier step",
      "/": "Search completions",
    },
  },
  labels: {
    title: "Labelling completions",
    keys: { "1": "Label right", "2": "Label wrong", "0": "Skip (also Space)", u: "Undo last" },
  },
  dataset: {
    title: "Rows of a dataset",
    keys: { j: "Next row", k: "Previous row" },
  },
  reward: {
    title: "Reward",
    keys: { "mod+enter": "Run on the rows", "mod+s": "Save revision" },
  },
} as const satisfies Record<string, { title: string; keys: Record<string, string> }>;

export type ShortcutScope = keyof typeof SHORTCUTS;
export type ShortcutKey<Scope extends ShortcutScope> = keyof (typeof SHORTCUTS)[Scope]["keys"] & string;
