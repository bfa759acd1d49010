import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** CodeMirror in the page's tokens, which change with the theme. */
const theme = EditorView.theme({
  "&": { backgroundColor: "var(--panel)", color: "var(--ink)", fontSize: "13px", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: MONO, lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--ink3)", border: "0" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "3ch", padding: "0 8px 0 4px" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "color-mix(in srgb, var(--accent) 24%, transparent) !important",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "transparent",
    outline: "1px solid var(--ink3)",
  },
  ".cm-selectionMatch, .cm-searchMatch": { backgroundColor: "var(--warn-soft)" },
  ".cm-searchMatch-selected": { outline: "1px solid var(--warn)" },
  ".cm-tooltip, .cm-panels": {
    backgroundColor: "var(--panel)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-panels": { borderRadius: "0", padding: "2px" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--panel)",
    backgroundImage: "none",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    minHeight: "24px",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: MONO, maxHeight: "240px" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 8px !important" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-soft) !important",
    color: "var(--ink) !important",
  },
  ".cm-completionDetail": { color: "var(--ink3)", fontStyle: "normal", marginLeft: "12px" },
  ".cm-completionInfo": { padding: "8px 10px", maxWidth: "320px", lineHeight: "1.5" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "650" },
  ".cm-diagnostic": { padding: "6px 10px", borderLeftWidth: "3px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  // The package's own marker is a data: image, which the page's content policy refuses.
  ".cm-lint-marker-error": {
    content: "normal",
    width: "9px",
    height: "9px",
    margin: "4px 2px",
    borderRadius: "2px",
    transform: "rotate(45deg)",
    background: "var(--bad)",
  },
  ".cm-gutter-lint": { width: "18px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "2px 0 0 3px" },
  ".cm-placeholder": { color: "var(--ink3)" },
  ".cm-column": { color: "var(--accent)", fontWeight: "550" },
  ".cm-deletedChunk, .cm-changedLine": { color: "inherit" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--neg-soft)" },
  "&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine": { backgroundColor: "var(--pos-soft)" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {
    background: "none",
    boxShadow: "inset 0 -2px var(--neg)",
  },
  "&.cm-merge-b .cm-changedText": { background: "none", boxShadow: "inset 0 -2px var(--pos)" },
  ".cm-deletedChunk": { paddingLeft: "6px" },
  ".cm-deletedChunk .cm-deletedLine, .cm-deletedChunk del": { textDecoration: "none" },
  ".cm-changeGutter": { width: "3px", paddingLeft: "1px" },
  "&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter": { background: "var(--neg)" },
  "&.cm-merge-b .cm-changedLineGutter": { background: "var(--pos)" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"⋯"' },
  ".cm-collapsedLines": {
    background: "var(--line2)",
    color: "var(--ink2)",
    fontFamily: "inherit",
    padding: "4px 12px",
  },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--c4)" },
  { tag: [tags.string, tags.special(tags.string)], color: "color-mix(in srgb, var(--c3) 85%, var(--ink))" },
  { tag: [tags.number, tags.bool, tags.null], color: "color-mix(in srgb, var(--c2) 80%, var(--ink))" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.className], color: "var(--c1)" },
  { tag: tags.function(tags.variableName), color: "var(--c1)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--ink3)", fontStyle: "italic" },
  { tag: tags.meta, color: "var(--warn)" },
]);

export const look: Extension = [theme, syntaxHighlighting(colours)];
