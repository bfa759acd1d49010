import { Button, Checkbox, Group, Modal, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { type Judge, useChangeJudge, useCreateJudge } from "@/api/judges";
import { Failure } from "@/components/Failure";
import { useSingleFlight } from "@/lib/single-flight";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { DEFAULTS, draftOf, faultsOf, type JudgeDraft, NUMBERS, toChange, toJudge } from "./judge-draft";

const STRUCTURED = [
  { value: "json_schema", label: "JSON schema" },
  { value: "json_object", label: "JSON object" },
  { value: "prompt", label: "Prompt only" },
];

const WORDS: Record<(typeof NUMBERS)[number], [label: string, about: string]> = {
  input_price: ["Input price", "Per million tokens, any currency."],
  output_price: ["Output price", "Per million tokens."],
  concurrency: ["Concurrent requests", "Per job, 1 to 256."],
  timeout_seconds: ["Timeout (seconds)", "Per attempt, at most 600."],
  retries: ["Retries", "0 to 10, after a timeout or a status 429 or 5xx."],
};

type Props = { judge?: Judge; onClose: () => void };

/** A new judge, or one that is changed. A key is only ever written. */
export function JudgeForm({ judge, onClose }: Props) {
  const [draft, setDraft] = useState(() => draftOf(judge));
  const create = useCreateJudge();
  const change = useChangeJudge();
  const once = useSingleFlight();
  const error = judge ? change.error : create.error;
  const faults = faultsOf(error);
  const set = (part: Partial<JudgeDraft>) => setDraft((old) => ({ ...old, ...part }));
  const missing = [draft.name, draft.base_url, draft.model].some((text) => text.trim() === "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const done = () => {
      toastDone(
        judge
          ? `${judge.name} changed. Jobs use it from their next attempt on.`
          : `${draft.name.trim()} added.`,
      );
      onClose();
    };
    // The refusal appears at its field.
    void once(() =>
      (judge
        ? change.mutateAsync({ id: judge.id, etag: judge.etag, ...toChange(draft, judge) })
        : create.mutateAsync(toJudge(draft))
      ).then(done, () => undefined),
    );
  };
  const text = (name: "name" | "base_url" | "model", label: string, about: string, placeholder: string) => (
    <TextInput
      label={label}
      description={about}
      placeholder={placeholder}
      required
      autoComplete="off"
      spellCheck={false}
      value={draft[name]}
      error={faults[name]}
      data-autofocus={(judge ? "base_url" : "name") === name || undefined}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  const unseen = NUMBERS.some((name) => faults[name]) || faults.structured;
  return (
    <Modal opened onClose={onClose} title={judge ? `Change ${judge.name}` : "New judge"} size={520}>
      <form className={styles.form} onSubmit={submit} noValidate>
        {!judge && text("name", "Name", "Name used in graders.", "strict")}
        {text(
          "base_url",
          "Base URL",
          "The URL before /chat/completions, on any OpenAI-compatible server.",
          "https://api.openai.com/v1",
        )}
        {text("model", "Model", "Model name on that server.", "gpt-4.1-mini")}
        <PasswordInput
          label="Key"
          description={
            judge?.has_key
              ? "A key is stored. Leave empty to keep it; a new URL needs it again."
              : "Stored encrypted, sent only to workers that use this judge, never shown. Leave empty if the server needs none."
          }
          placeholder={judge?.has_key ? "unchanged" : "none"}
          autoComplete="new-password"
          maxLength={4096}
          disabled={draft.dropKey}
          value={draft.key}
          error={faults.api_key}
          onChange={(event) => set({ key: event.currentTarget.value })}
        />
        {judge?.has_key && (
          <Checkbox
            label="Remove the key"
            checked={draft.dropKey}
            onChange={(event) => set({ dropKey: event.currentTarget.checked, key: "" })}
          />
        )}
        <details className={styles.more} open={unseen ? true : undefined}>
          <summary>Prices and limits</summary>
          <div className={styles.two}>
            {NUMBERS.map((name) => (
              <TextInput
                key={name}
                label={WORDS[name][0]}
                description={WORDS[name][1]}
                inputMode="decimal"
                autoComplete="off"
                placeholder={DEFAULTS[name]}
                value={draft[name]}
                error={faults[name]}
                onChange={(event) => set({ [name]: event.currentTarget.value })}
              />
            ))}
            <NativeSelect
              label="Reply format"
              description="How requests ask for a JSON reply."
              data={STRUCTURED}
              value={draft.structured}
              error={faults.structured}
              onChange={(event) => set({ structured: event.currentTarget.value as Judge["structured"] })}
            />
          </div>
        </details>
        {error && faults[""] && <Failure title="Could not save the judge" error={error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending || change.isPending} disabled={missing}>
            {judge ? "Save" : "Add judge"}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
