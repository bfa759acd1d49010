import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

/** Columns by which the rest of a wrapped line stands further in than its begin. */
const FURTHER = 2;

function hanging(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const { doc, tabSize } = view.state;
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = doc.lineAt(at);
      const blanks = /^[ \t]*/.exec(line.text)?.[0] ?? "";
      const columns = blanks.replaceAll("\t", " ".repeat(tabSize)).length + FURTHER;
      const style = `padding-left: calc(6px + ${columns}ch); text-indent: -${columns}ch`;
      builder.add(line.from, line.from, Decoration.line({ attributes: { style } }));
      at = line.to + 1;
    }
  }
  return builder.finish();
}

const hang = ViewPlugin.fromClass(
  class {
    decorations;
    constructor(view: EditorView) {
      this.decorations = hanging(view);
    }
    update({ view, docChanged, viewportChanged }: ViewUpdate) {
      if (docChanged || viewportChanged) this.decorations = hanging(view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/** Wraps long lines; what is wrapped keeps the line's indentation. */
export const wrapping = [EditorView.lineWrapping, hang];
