import { SegmentedControl } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { isGrader, readGrader, writeGrader } from "@/lib/grader";
import { firstGrader, firstPython, isFirstPython } from "@/lib/grader-start";
import pane from "./EditorPane.module.css";

export type RewardKind = "python" | "grader";

type Draft = { source: string; entry: string | null };

const PYTHON = /^\s*(?:(?:async )?def |import |from |class |@|#|""")/;

/** A complete grader, pasted or opened; a typed first brace is not one yet. */
function isWhole(source: string): boolean {
  const read = isGrader(source) ? readGrader(source) : null;
  return read !== null && "grader" in read && typeof read.grader.type === "string";
}

/**
 * Whether the source is edited as Python or as a grader. A grader's text stays one while it is no JSON for a moment.
 * `turn` goes to the other kind, and back to what stood there. `answer`: column with the reference answer; `isNew`: the
 * reward is not stored yet.
 */
export function useKind(
  draft: Draft,
  onChange: (change: Draft) => void,
  answer: string | undefined,
  isNew: boolean,
): { kind: RewardKind; turn: (kind: RewardKind) => void } {
  const [kind, setKind] = useState<RewardKind>(isGrader(draft.source) ? "grader" : "python");
  const left = useRef<Partial<Record<RewardKind, Draft>>>({});
  if (kind === "python" && isWhole(draft.source)) setKind("grader");
  if (kind === "grader" && PYTHON.test(draft.source)) setKind("python");
  // An unchanged starter follows the selected dataset.
  const fresh = isNew && isFirstPython(draft.source) ? firstPython(answer) : draft.source;
  useEffect(() => {
    if (fresh !== draft.source) onChange({ source: fresh, entry: null });
  });
  const turn = (next: RewardKind) => {
    if (next === kind) return;
    left.current[kind] = draft;
    const start = next === "grader" ? writeGrader(firstGrader(answer)) : firstPython(answer);
    setKind(next);
    onChange(left.current[next] ?? { source: start, entry: null });
  };
  return { kind, turn };
}

type Props = { kind: RewardKind; onKind: (kind: RewardKind) => void; readOnly: boolean };

export function KindSwitch({ kind, onKind, readOnly }: Props) {
  return (
    <SegmentedControl
      className={pane.kinds}
      aria-label="Kind of reward"
      size="xs"
      disabled={readOnly}
      data={[
        { value: "python", label: "Python" },
        { value: "grader", label: "Grader" },
      ]}
      value={kind}
      onChange={(value) => onKind(value as RewardKind)}
    />
  );
}
