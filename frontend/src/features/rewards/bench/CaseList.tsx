import { Button, CloseButton, Textarea } from "@mantine/core";
import { useRef } from "react";
import { number } from "@/lib/format";
import { valueText } from "@/lib/prompt";
import styles from "./Bench.module.css";
import type { BenchCompletion, Case } from "./bench";

const FROM: Record<BenchCompletion["from"], string> = {
  reference: "reference answer",
  typed: "typed",
  sampled: "sampled",
  stored: "stored",
};

type Change = (key: string, edit: (old: BenchCompletion[]) => BenchCompletion[]) => void;

function Completions({ one, change }: { one: Case; change: Change }) {
  const set = (at: number, text: string) =>
    change(one.key, (old) =>
      old.map((completion, i) => (i === at ? { text, from: "typed", done: true } : completion)),
    );
  const added = useRef(false);
  const name = one.row === null ? "the row" : `row ${one.row + 1}`;
  return (
    <>
      {one.completions.map((completion, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: completions have no other name
        <div key={i} className={styles.given}>
          <Textarea
            aria-label={`Completion ${i + 1} of ${name}`}
            autosize
            minRows={1}
            ref={(field) => {
              if (!field || !added.current || i !== one.completions.length - 1) return;
              added.current = false;
              field.focus();
            }}
            maxRows={8}
            dir="auto"
            placeholder="Empty. Enter a possible answer."
            value={completion.text}
            readOnly={!completion.done}
            classNames={{ input: styles.mono }}
            onChange={(event) => set(i, event.currentTarget.value)}
          />
          <span className={styles.from}>{completion.done ? FROM[completion.from] : "writing…"}</span>
          <CloseButton
            size={28}
            aria-label={`Remove completion ${i + 1} of ${name}`}
            disabled={!completion.done}
            onClick={() => change(one.key, (old) => old.filter((_, at) => at !== i))}
          />
        </div>
      ))}
      <Button
        variant="subtle"
        size="compact-sm"
        className={styles.add}
        onClick={() => {
          added.current = true;
          change(one.key, (old) => [...old, { text: "", from: "typed", done: true }]);
        }}
      >
        Add a completion
      </Button>
    </>
  );
}

/** Rows with the completions to score: typed, sampled, or the reference answer to begin with. */
export function CaseList({ cases, change }: { cases: readonly Case[]; change: Change }) {
  return (
    <ol className={styles.cases}>
      {cases.map((one) => (
        <li key={one.key}>
          {one.row !== null && (
            <p className={styles.prompt} dir="auto">
              <b>Row {number(one.row + 1, 6)}</b>
              <code>{one.prompt.length > 0 ? valueText(one.prompt) : "no prompt"}</code>
            </p>
          )}
          <Completions one={one} change={change} />
        </li>
      ))}
    </ol>
  );
}
