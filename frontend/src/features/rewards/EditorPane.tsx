import { Button, FileButton, Select } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type DragEvent, useId, useMemo, useState } from "react";
import type { ApiError } from "@/api/client";
import { type RewardTemplate, rewardCheckQuery } from "@/api/rewards";
import { CodeEditor } from "@/components/code/CodeEditor";
import type { CodeColumn } from "@/components/code/completion";
import { count } from "@/lib/format";
import styles from "./EditorPane.module.css";
import { Templates } from "./Templates";

type Props = {
  source: string;
  entry: string | null;
  columns: readonly CodeColumn[];
  readOnly: boolean;
  onSource: (source: string) => void;
  onEntry: (entry: string | null) => void;
  onTemplate: (template: RewardTemplate) => void;
  /** A `.py` file was dropped or opened. */
  onFile: (file: File) => void;
};

const CHECK_AFTER_MS = 500;
const NO_PROBLEMS: [] = [];

/** What a worker's sandbox says about the source as it stands. */
function useCheck(source: string, entry: string | null, off: boolean) {
  const [settled] = useDebouncedValue(source, CHECK_AFTER_MS);
  const options = rewardCheckQuery(settled, entry);
  const check = useQuery({ ...options, enabled: !off && settled.trim() !== "" });
  const current = settled === source && !check.isPlaceholderData;
  return {
    check,
    problems: check.data?.problems ?? NO_PROBLEMS,
    entries: check.data?.entries ?? [],
    current,
  };
}

function checkWords({ check, problems, entries, current }: ReturnType<typeof useCheck>): string {
  const error = check.error as ApiError | null;
  if (error) return `Not checked. ${error.message} ${error.hint ?? ""}`;
  if (!current || !check.data) return "Checking…";
  const [first] = problems;
  if (first) {
    const place = first.line == null ? "" : `Line ${first.line}: `;
    const more = problems.length > 1 ? ` (and ${count(problems.length - 1, "more problem")})` : "";
    return `${place}${first.message}${more}`;
  }
  const names = entries.map(({ name, line }) => (line ? `${name}() on line ${line}` : `${name}()`));
  return `It loads. Found ${names.join(", ")}.`;
}

/** The source with what the sandbox says about it, beside its file and templates. */
export function EditorPane(props: Props) {
  const { source, entry, columns, readOnly, onSource, onEntry, onTemplate, onFile } = props;
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
        {checked.entries.length > 1 ? (
          <Select
            aria-label="Function that scores"
            size="xs"
            data={checked.entries.map(({ name }) => name)}
            value={entry ?? (checked.entries.some(({ name }) => name === "grade") ? "grade" : null)}
            placeholder="Which function scores?"
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
        {over && (
          <div className={styles.drop}>Drop the .py file: it replaces the source, undo brings it back</div>
        )}
      </div>
      <div className={styles.foot}>
        <span
          role="status"
          data-state={readOnly ? undefined : ok ? "ok" : checked.problems.length > 0 ? "bad" : undefined}
        >
          {readOnly ? "Read only" : checkWords(checked)}
        </span>
        <span id={help} className={styles.help}>
          Tab indents. Escape, then Tab, leaves the editor.
        </span>
      </div>
      <Templates
        opened={templates}
        onClose={close}
        columns={names}
        onInsert={(template) => {
          onTemplate(template);
          close();
        }}
      />
    </section>
  );
}
