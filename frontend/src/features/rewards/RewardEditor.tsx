import { Button, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { FileDrop } from "@/components/FileDrop";
import { UploadProblems } from "@/components/UploadProblems";
import styles from "./RewardEditor.module.css";

export type RewardDraft = { name: string; source: string };

type Props = {
  /** What is there already; without a name the form asks for one. */
  start: RewardDraft;
  named: boolean;
  submit: string;
  busy: boolean;
  error: Error | null;
  onSubmit: (draft: RewardDraft) => void;
  onLeave?: () => void;
};

/** Source from a file, pasted or typed; the worker reads it before anything is stored. */
export function RewardEditor({ start, named, submit, busy, error, onSubmit, onLeave }: Props) {
  const [draft, setDraft] = useState(start);
  const read = async (file: File) => {
    const source = await file.text();
    setDraft((old) => ({ name: old.name || file.name.replace(/\.py$/, ""), source }));
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    onSubmit(draft);
  };
  return (
    <form className={styles.form} onSubmit={send}>
      <FileDrop
        what="a .py file"
        note="Or write below. It must define a function."
        onFile={(file) => void read(file)}
      />
      {!named && (
        <TextInput
          label="Name"
          description="How jobs and completions call it."
          required
          maxLength={100}
          value={draft.name}
          onChange={(event) => {
            const name = event.currentTarget.value;
            setDraft((old) => ({ ...old, name }));
          }}
        />
      )}
      <Textarea
        label="Source"
        description="grade(sample, item) returns a number, None, or a mapping with score, reason and parts. item has the row's columns."
        required
        autosize
        minRows={14}
        maxRows={32}
        spellCheck={false}
        classNames={{ input: styles.source }}
        value={draft.source}
        onChange={(event) => {
          const source = event.currentTarget.value;
          setDraft((old) => ({ ...old, source }));
        }}
      />
      {error && <UploadProblems title="Not stored" error={error} />}
      <div className={styles.actions}>
        <Button
          type="submit"
          loading={busy}
          disabled={draft.source.trim() === "" || draft.name.trim() === ""}
        >
          {submit}
        </Button>
        {onLeave && (
          <Button variant="default" onClick={onLeave}>
            Cancel
          </Button>
        )}
      </div>
    </form>
  );
}
