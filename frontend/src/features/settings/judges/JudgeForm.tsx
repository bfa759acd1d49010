import { Button, Checkbox, Group, Modal, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { type Judge, useChangeJudge, useCreateJudge } from "@/api/judges";
import { Failure } from "@/components/Failure";
import { useSingleFlight } from "@/lib/single-flight";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { DEFAULTS, draftOf, faultsOf, type JudgeDraft, NUMBERS, toChange, toJudge } from "./judge-draft";

const STRUCTURED = [
  { value: "json_schema", label: "by a JSON schema" },
  { value: "json_object", label: "as any JSON" },
  { value: "prompt", label: "by the prompt alone" },
];

const WORDS: Record<(typeof NUMBERS)[number], [label: string, about: string]> = {
  input_price: ["Price of input", "Per million tokens, any currency."],
  output_price: ["Price of output", "Per million tokens."],
  concurrency: ["Requests at the same time", "For each job, 1 to 256."],
  timeout_seconds: ["Time-out (seconds)", "For one try, at most 600."],
  retries: ["Tries again", "After a time-out, 429 or 5xx, 0 to 10."],
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
          ? `${judge.name} is changed. Jobs take it from their next attempt on.`
          : `${draft.name.trim()} is added.`,
      );
      onClose();
    };
    // A refusal is told at its field.
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
        {!judge && text("name", "Name", "What graders call it.", "strict")}
        {text(
          "base_url",
          "Address",
          "Where /chat/completions is found: any server that speaks OpenAI's chat completions.",
          "https://api.openai.com/v1",
        )}
        {text("model", "Model", "Its name there.", "gpt-4.1-mini")}
        <PasswordInput
          label="Key"
          description={
            judge?.has_key
              ? "One is kept. Leave this empty to keep it; another address needs it again."
              : "Kept encrypted, sent only to workers that ask this judge, and never shown. Empty for servers without."
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
            label="Take the key away"
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
              label="Form of the reply"
              description="How it is asked for."
              data={STRUCTURED}
              value={draft.structured}
              error={faults.structured}
              onChange={(event) => set({ structured: event.currentTarget.value as Judge["structured"] })}
            />
          </div>
        </details>
        {error && faults[""] && <Failure title="Not stored" error={error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending || change.isPending} disabled={missing}>
            {judge ? "Store the change" : "Add the judge"}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
