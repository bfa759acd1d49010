import { Button, Modal, NativeSelect, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { Failure } from "@/components/Failure";
import {
  type Expectation,
  type ExpectationDraft,
  type ExpectationKind,
  readExpectation,
} from "@/lib/expectation";
import styles from "./KeepGolden.module.css";

type Props = {
  completion: string;
  start: ExpectationDraft;
  /** Completions of the same row, for an ordering. */
  rivals: readonly string[];
  /** Rewards that the case may belong to; the chosen one. */
  rewards?: readonly { id: string; name: string }[];
  reward?: string;
  onReward?: (id: string) => void;
  busy: boolean;
  error: Error | null;
  onKeep: (expect: Expectation, note: string | null) => void;
  onClose: () => void;
};

const KINDS: { value: ExpectationKind; label: string }[] = [
  { value: "value", label: "Value" },
  { value: "range", label: "Range" },
  { value: "above", label: "Ordering" },
  { value: "nothing", label: "No reward" },
];

const LONGEST = 2000;

/** What the chosen kind of expectation asks for. */
function Fields(props: {
  draft: ExpectationDraft;
  rivals: readonly string[];
  set: (change: Partial<ExpectationDraft>) => void;
}) {
  const { draft, rivals, set } = props;
  if (draft.kind === "nothing")
    return <p className={styles.words}>The reward must return None: it does not apply to this row.</p>;
  if (draft.kind === "above")
    return (
      <>
        {rivals.length > 0 && (
          <NativeSelect
            label="Choose a completion of the same row"
            value={rivals.includes(draft.above) ? draft.above : ""}
            onChange={(event) => set({ above: event.currentTarget.value })}
            data={[
              { value: "", label: "Other text" },
              ...rivals
                .filter((text) => text !== "")
                .map((text) => ({ value: text, label: text.slice(0, 80).replace(/\s+/g, " ") })),
            ]}
          />
        )}
        <Textarea
          label="Completion that must score lower"
          autosize
          minRows={2}
          maxRows={8}
          dir="auto"
          value={draft.above}
          classNames={{ input: styles.mono }}
          onChange={(event) => set({ above: event.currentTarget.value })}
        />
      </>
    );
  if (draft.kind === "value")
    return (
      <TextInput
        label="Expected reward"
        inputMode="decimal"
        data-autofocus
        value={draft.value}
        onChange={(event) => set({ value: event.currentTarget.value })}
      />
    );
  return (
    <div className={styles.two}>
      <TextInput
        label="Minimum"
        inputMode="decimal"
        placeholder="no minimum"
        value={draft.least}
        onChange={(event) => set({ least: event.currentTarget.value })}
      />
      <TextInput
        label="Maximum"
        inputMode="decimal"
        placeholder="no maximum"
        value={draft.most}
        onChange={(event) => set({ most: event.currentTarget.value })}
      />
    </div>
  );
}

/** A completion becomes a golden case: what its reward has to say about it from now on. */
export default function KeepGolden(props: Props) {
  const { completion, start, rivals, rewards = [], reward, onReward, busy, error, onKeep, onClose } = props;
  const [draft, setDraft] = useState(start);
  const [note, setNote] = useState("");
  const [tried, setTried] = useState(false);
  const answer = readExpectation(draft);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    setTried(true);
    if ("expect" in answer && !busy) onKeep(answer.expect, note.trim() || null);
  };
  return (
    <Modal opened onClose={onClose} title="Save as golden case" size={560}>
      <form onSubmit={submit} noValidate className={styles.form}>
        <p className={styles.words}>
          A job starts only if the reward revision gives this result for this completion.
        </p>
        <pre className={styles.completion} dir="auto" tabIndex={0}>
          {completion.slice(0, LONGEST) || "(empty)"}
          {completion.length > LONGEST && "…"}
        </pre>
        {rewards.length > 1 && (
          <NativeSelect
            label="Reward"
            value={reward}
            onChange={(event) => onReward?.(event.currentTarget.value)}
            data={rewards.map(({ id, name }) => ({ value: id, label: name }))}
          />
        )}
        <SegmentedControl
          aria-label="Expected result"
          fullWidth
          value={draft.kind}
          onChange={(kind) => setDraft((old) => ({ ...old, kind: kind as ExpectationKind }))}
          data={KINDS}
        />
        <Fields draft={draft} rivals={rivals} set={(change) => setDraft((old) => ({ ...old, ...change }))} />
        {tried && "fault" in answer && (
          <p role="alert" className={styles.fault}>
            {answer.fault}
          </p>
        )}
        <TextInput
          label="Note"
          placeholder="What this case tests (optional)"
          maxLength={400}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        {error && <Failure title="Could not save the golden case" error={error} />}
        <div className={styles.buttons}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}
