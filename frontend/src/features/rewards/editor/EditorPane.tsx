import { Button, FileButton, Select } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type DragEvent, type ReactNode, useId, useMemo, useState } from "react";
import type { RewardTemplate } from "@/api/rewards";
import { CodeEditor } from "@/components/code/CodeEditor";
import type { CodeColumn } from "@/components/code/completion";
import styles from "./EditorPane.module.css";
import { Templates } from "./Templates";
import { checkWords, useCheck } from "./use-check";

type Props = {
  /** The choice between Python and a grader. */
  kinds: ReactNode;
  source: string;
  entry: string | null;
  columns: readonly CodeColumn[];
  /** The one with the reference answer. */
  answer: string | undefined;
  readOnly: boolean;
  onSource: (source: string) => void;
  onEntry: (entry: string | null) => void;
  onTemplate: (template: RewardTemplate) => void;
  /** A `.py` file was dropped or opened. */
  onFile: (file: File) => void;
};

/** The source with what the sandbox says about it, beside its file and templates. */
export function EditorPane(props: Props) {
  const { kinds, source, entry, columns, answer, readOnly, onSource, onEntry, onTemplate, onFile } = props;
  const help = useId();
  const [templates, { open, close }] = useDisclosure(false);
  const [over, setOver] = useState(false);
  const checked = useCheck(source, entry, readOnly);
  const names = useMemo(() => columns.map((column) => column.name), [columns]);
  const ok = checked.current && checked.check.data?.ok && !checked.check.error;

  const drag = (event: DragEvent) => {
    if (readOnly || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    setOver(false);
    const [file] = event.dataTransfer.files;
    if (readOnly || !file) return;
    // Before the editor sees it, which would insert the file's text where it fell.
    event.preventDefault();
    event.stopPropagation();
    onFile(file);
  };
  return (
    <section
      className={styles.pane}
      aria-label="Source"
      data-over={over || undefined}
      onDragEnterCapture={drag}
      onDragOverCapture={drag}
      onDragLeave={() => setOver(false)}
      onDropCapture={drop}
    >
      <div className={styles.bar}>
        {kinds}
        {checked.entries.length > 1 ? (
          <Select
            aria-label="Scoring function"
            size="xs"
            data={checked.entries.map(({ name }) => name)}
            value={entry ?? (checked.entries.some(({ name }) => name === "grade") ? "grade" : null)}
            placeholder="Choose the scoring function"
            onChange={onEntry}
            disabled={readOnly}
          />
        ) : (
          <span className={styles.file}>
            {checked.entries[0] ? `${checked.entries[0].name}()` : "reward.py"}
          </span>
        )}
        {!readOnly && (
          <>
            <Button variant="default" size="compact-sm" onClick={open}>
              Templates
            </Button>
            <FileButton accept=".py,text/x-python" onChange={(file) => file && onFile(file)}>
              {(button) => (
                <Button variant="default" size="compact-sm" {...button}>
                  Open a .py file
                </Button>
              )}
            </FileButton>
          </>
        )}
      </div>
      <div className={styles.editor}>
        <CodeEditor
          label="Source of the reward, Python"
          describedBy={help}
          value={source}
          onChange={onSource}
          columns={columns}
          problems={checked.problems}
          readOnly={readOnly}
        />
        {over && <div className={styles.drop}>Drop a .py file to replace the source (you can undo this)</div>}
      </div>
      <div className={styles.foot}>
        <span
          role="status"
          data-state={readOnly ? undefined : ok ? "ok" : checked.problems.length > 0 ? "bad" : undefined}
        >
          {readOnly ? "Read only" : checkWords(checked)}
        </span>
        <span id={help} className={styles.help}>
          Tab indents. Press Escape, then Tab to leave the editor.
        </span>
      </div>
      <Templates
        opened={templates}
        onClose={close}
        columns={names}
        answer={answer}
        onInsert={(template) => {
          onTemplate(template);
          close();
        }}
      />
    </section>
  );
}
