import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  snippet,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { python, pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { type CodeColumn, type Offer, type Offers, offersForReward, offersForTemplate } from "./completion";
import { look } from "./look";
import { wrapping } from "./wrapping";

/** `plain_python`: without what is offered to rewards. */
export type CodeLanguage = "python" | "plain_python" | "json" | "template";

const TYPES = { column: "property", key: "property", function: "function" } as const;

function toCompletion({ label, detail, info, insert = label, kind }: Offer): Completion {
  const apply = insert.includes("#{") ? snippet(insert) : insert;
  return { label, detail, info, apply, type: TYPES[kind], boost: 50 };
}

type Ask = (before: string, after: string, columns: readonly CodeColumn[]) => Offers | null;

function source(ask: Ask, columns: () => readonly CodeColumn[]) {
  return ({ state, pos }: CompletionContext): CompletionResult | null => {
    const line = state.doc.lineAt(pos);
    const result = ask(line.text.slice(0, pos - line.from), line.text.slice(pos - line.from), columns());
    return result && { from: line.from + result.from, options: result.offers.map(toCompletion) };
  };
}

// Those two chords are the page's: run and save. They reach the page's own listener untouched.
const PAGE_KEYS = new Set(["Mod-Enter", "Mod-s"]);
const keys = [
  { key: "Tab", run: acceptCompletion },
  ...closeBracketsKeymap,
  ...completionKeymap,
  ...searchKeymap,
  ...historyKeymap,
  ...defaultKeymap,
].filter(({ key }) => !PAGE_KEYS.has(key ?? ""));

const placeholders = new MatchDecorator({
  regexp: /\{\{|\}\}|\{[^{}\n]+\}/g,
  decoration: ([text]) => (text === "{{" || text === "}}" ? null : Decoration.mark({ class: "cm-column" })),
});

const markPlaceholders = ViewPlugin.fromClass(
  class {
    decorations;
    constructor(view: EditorView) {
      this.decorations = placeholders.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = placeholders.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

const both = [history(), drawSelection(), bracketMatching(), closeBrackets(), look];

/** Extensions of one language; `columns` is called at every completion. */
export function extensionsFor(language: CodeLanguage, columns: () => readonly CodeColumn[]): Extension {
  if (language === "template") {
    return [
      ...both,
      markPlaceholders,
      EditorView.lineWrapping,
      autocompletion({ icons: false, override: [source(offersForTemplate, columns)] }),
      keymap.of(keys),
    ];
  }
  return [
    ...both,
    language === "json"
      ? [json(), indentUnit.of("  "), wrapping]
      : [
          python(),
          wrapping,
          language === "python"
            ? pythonLanguage.data.of({ autocomplete: source(offersForReward, columns) })
            : [],
          autocompletion({ icons: false }),
          indentUnit.of("    "),
          EditorState.tabSize.of(4),
        ],
    indentOnInput(),
    lineNumbers(),
    lintGutter(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    keymap.of([...keys, indentWithTab]),
  ];
}
