import { setDiagnostics } from "@codemirror/lint";
import { Annotation, Compartment, EditorState } from "@codemirror/state";
import { EditorView, placeholder as placeholderText } from "@codemirror/view";
import { useEffect, useRef } from "react";
import type { CodeEditorProps } from "./CodeEditor";
import { rangeOf } from "./problems";
import { extensionsFor } from "./setup";

/** Marks a change that `value` made: telling it on as typed would answer an old value with a new one. */
const fromOutside = Annotation.define<boolean>();

/** The editor itself; import it through CodeEditor, which loads it when it is needed. */
export default function CodeMirror({
  value,
  onChange,
  label,
  describedBy,
  language = "python",
  columns = [],
  problems = [],
  readOnly = false,
  placeholder,
}: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef({ onChange, columns });
  const start = useRef(value);
  const locks = useRef(new Compartment());
  useEffect(() => {
    latest.current = { onChange, columns };
  });

  useEffect(() => {
    const attributes: Record<string, string> = { "aria-label": label, spellcheck: "false", tabindex: "0" };
    if (describedBy) attributes["aria-describedby"] = describedBy;
    const editor = new EditorView({
      parent: host.current as HTMLElement,
      doc: start.current,
      extensions: [
        extensionsFor(language, () => latest.current.columns),
        EditorView.contentAttributes.of(attributes),
        placeholder ? placeholderText(placeholder) : [],
        locks.current.of([]),
        EditorView.updateListener.of((update) => {
          const typed = !update.transactions.some((one) => one.annotation(fromOutside));
          if (update.docChanged && typed) latest.current.onChange?.(update.state.doc.toString());
        }),
      ],
    });
    view.current = editor;
    return () => {
      start.current = editor.state.doc.toString();
      editor.destroy();
    };
  }, [label, describedBy, language, placeholder]);

  useEffect(() => {
    const lock = [EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly)];
    view.current?.dispatch({ effects: locks.current.reconfigure(lock) });
  }, [readOnly]);

  // A text that comes from outside (a template, a dropped file, a restored revision) can be undone like an edit.
  useEffect(() => {
    const editor = view.current;
    const now = editor?.state.doc.toString();
    if (editor && now !== value)
      editor.dispatch({
        changes: { from: 0, to: editor.state.doc.length, insert: value },
        annotations: fromOutside.of(true),
      });
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const text = editor.state.doc.toString();
    const diagnostics = problems.map((problem) => ({
      ...rangeOf(problem, text),
      severity: "error" as const,
      message: problem.hint ? `${problem.message}\n${problem.hint}` : problem.message,
    }));
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [problems]);

  return <div ref={host} style={{ height: "100%", minHeight: 0 }} />;
}
