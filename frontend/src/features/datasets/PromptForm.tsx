import { Button, SegmentedControl, Select, Textarea } from "@mantine/core";
import { useId } from "react";
import type { DatasetColumn } from "@/api/datasets";
import { CodeEditor } from "@/components/code/CodeEditor";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import styles from "./PromptsTab.module.css";
import type { PromptDraft } from "./prompt-draft";

type Props = {
  columns: readonly DatasetColumn[];
  draft: PromptDraft;
  onChange: (change: Partial<PromptDraft>) => void;
  /** Why it cannot be used yet. */
  fault: string | null;
  changed: boolean;
  refusal: string | null;
  saving: boolean;
  error: Error | null;
  onSave: () => void;
  onReset: () => void;
};

/** Column roles, template and system prompt. */
export function PromptForm(props: Props) {
  const { columns, draft, onChange, fault, changed, refusal, saving, error, onSave, onReset } = props;
  const help = useId();
  const names = columns.map((column) => ({ value: column.name, label: `${column.name} · ${column.type}` }));
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (!fault && changed && !refusal) onSave();
      }}
    >
      <h2>Prompt settings</h2>
      <SegmentedControl
        aria-label="Prompt source"
        fullWidth
        value={draft.from}
        onChange={(from) => onChange({ from: from as PromptDraft["from"] })}
        data={[
          { value: "column", label: "Column" },
          { value: "template", label: "Template" },
        ]}
      />
      {draft.from === "column" ? (
        <Select
          label="Prompt column"
          description="A list of chat messages, or the text of the user message."
          data={names.filter(({ value }) =>
            columns.some((one) => one.name === value && ["list", "string", "mixed"].includes(one.type)),
          )}
          value={draft.prompt}
          onChange={(prompt) => onChange({ prompt })}
          error={fault}
        />
      ) : (
        <div>
          <span className={styles.label}>Prompt template</span>
          <p id={help} className={styles.help}>
            Text of the user message. {"{column}"} is replaced by the value of the row; write {"{{ }}"} for
            braces.
          </p>
          <div className={styles.template} data-bad={fault !== null || undefined}>
            <CodeEditor
              language="template"
              label="Prompt template"
              describedBy={help}
              columns={columns}
              value={draft.template}
              onChange={(template) => onChange({ template })}
              placeholder="Question: {question}"
            />
          </div>
          <p className={styles.fault} role="status">
            {fault}
          </p>
        </div>
      )}
      <Textarea
        label="System prompt"
        description="Added to each prompt that has no system message."
        autosize
        minRows={2}
        maxRows={10}
        value={draft.system}
        onChange={(event) => onChange({ system: event.currentTarget.value })}
      />
      <div className={styles.pair}>
        <Select
          label="Answer"
          description="Reference answer for rewards."
          data={names}
          value={draft.answer}
          onChange={(answer) => onChange({ answer })}
          clearable
          clearButtonProps={{ "aria-label": "No answer column" }}
          placeholder="None"
        />
        <Select
          label="Slice"
          description="Metrics are split by the values of this column."
          data={names}
          value={draft.slice}
          onChange={(slice) => onChange({ slice })}
          clearable
          clearButtonProps={{ "aria-label": "No slice column" }}
          placeholder="None"
        />
      </div>
      {error && <Failure title="Could not save" error={error} />}
      <div className={styles.actions}>
        <GatedButton
          type="submit"
          refusal={refusal}
          loading={saving}
          disabled={!refusal && (!changed || fault !== null)}
        >
          Save
        </GatedButton>
        <Button variant="default" disabled={!changed} onClick={onReset}>
          Discard changes
        </Button>
      </div>
    </form>
  );
}
