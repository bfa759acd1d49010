import { python } from "@codemirror/lang-python";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import type { CodeDiffProps } from "./CodeDiff";
import { look } from "./look";

const shared = (label: string) => [
  python(),
  look,
  lineNumbers(),
  EditorView.lineWrapping,
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
];

const COLLAPSE = { margin: 3, minSize: 6 };

/** The comparison itself; import it through CodeDiff. */
export default function Merge({ before, after, labels, unified }: CodeDiffProps) {
  const host = useRef<HTMLDivElement>(null);
  const [left, right] = labels;
  useEffect(() => {
    const parent = host.current as HTMLElement;
    const view = unified
      ? new EditorView({
          parent,
          doc: after,
          extensions: [
            shared(`${left}, changed to ${right}`),
            unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: COLLAPSE }),
          ],
        })
      : new MergeView({
          parent,
          a: { doc: before, extensions: shared(left) },
          b: { doc: after, extensions: shared(right) },
          collapseUnchanged: COLLAPSE,
        });
    return () => view.destroy();
  }, [before, after, left, right, unified]);
  return <div ref={host} />;
}
