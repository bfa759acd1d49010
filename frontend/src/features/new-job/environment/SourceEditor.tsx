import { Button, FileButton, SegmentedControl } from "@mantine/core";
import { useId } from "react";
import { CodeEditor } from "@/components/code/CodeEditor";
import { Problems } from "@/components/Problems";
import { ShortField } from "../Field";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import form from "../NewJob.module.css";
import styles from "./Environment.module.css";
import { changeSource, removeSource, type Source } from "./environment";
import { sourceWords, type ToolsReport } from "./use-tools";

type Props = { source: Source; index: number; report: ToolsReport };

/** One Python source: functions, or a class with a state. */
export function SourceEditor({ source, index, report }: Props) {
  const { change, readOnly } = useForm();
  const help = useId();
  const path = `environment.sources[${index}]`;
  const server = [...useField(path).problems, ...useField(`${path}.source`).problems];
  const problems = report.problemsOf(index);
  // The editor says the same with its line.
  const others = server.filter(({ code }) => !problems.some((one) => one.code === code));
  const code = source.source ?? "";
  const file = `${source.type === "class" ? "environment" : "tools"}_${index}.py`;
  const ok = report.current && !report.error && problems.length === 0 && code.trim() !== "";
  const set = (fields: Partial<Pick<Source, "type" | "source">>) =>
    change((old) => changeSource(old, index, fields));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and a section would be a landmark per source
    <div className={styles.pane} id={fieldId(path)} tabIndex={-1} role="group" aria-label={`Source ${file}`}>
      <div className={styles.bar}>
        <SegmentedControl
          aria-label={`Kind of ${file}`}
          size="xs"
          disabled={readOnly}
          data={[
            { value: "python", label: "Functions" },
            { value: "class", label: "Class" },
          ]}
          value={source.type}
          onChange={(type) => set({ type: type as Source["type"] })}
        />
        <code>{file}</code>
        {!readOnly && (
          <>
            <FileButton
              accept=".py,text/x-python"
              onChange={(chosen) => chosen && void chosen.text().then((text) => set({ source: text }))}
            >
              {(button) => (
                <Button
                  variant="default"
                  size="compact-sm"
                  aria-label={`Open a file in place of ${file}`}
                  {...button}
                >
                  Open
                </Button>
              )}
            </FileButton>
            <Button
              variant="default"
              size="compact-sm"
              aria-label={`Remove ${file}`}
              onClick={() => change((old) => removeSource(old, index))}
            >
              Remove
            </Button>
          </>
        )}
      </div>
      <div className={styles.editor}>
        <CodeEditor
          label={`Source of ${file}, Python`}
          describedBy={help}
          language="plain_python"
          value={code}
          onChange={(text) => set({ source: text })}
          problems={problems}
          readOnly={readOnly}
        />
      </div>
      <div className={styles.foot}>
        <span
          role="status"
          data-state={readOnly ? undefined : ok ? "ok" : problems.length > 0 ? "bad" : undefined}
        >
          {readOnly ? "Read only" : code.trim() === "" ? "No code yet." : sourceWords(report, index)}
        </span>
        <span id={help} className={styles.help}>
          Tab indents. Press Escape, then Tab to leave the editor.
        </span>
      </div>
      <div className={styles.more}>
        <Problems problems={others} />
        <details className={form.more}>
          <summary>Time limit and isolation</summary>
          <div className={form.two}>
            <ShortField path={`${path}.timeout_seconds`} label="Seconds of a call">
              A call that takes longer is stopped and fails.
            </ShortField>
            <ShortField path={`${path}.isolate`} label="Isolation">
              batch: rollouts share a process, which is faster. sample: each rollout has its own, for tools
              that run the model's code.
            </ShortField>
          </div>
        </details>
      </div>
    </div>
  );
}
