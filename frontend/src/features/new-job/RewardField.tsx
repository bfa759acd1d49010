import { Button, Select, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { rewardsQuery } from "@/api/rewards";
import { FileDrop } from "@/components/FileDrop";
import type { Draft, FieldErrors } from "./draft";
import styles from "./NewJob.module.css";

type Props = { draft: Draft; errors: FieldErrors; onChange: (change: Partial<Draft>) => void };

const EXAMPLE = `def grade(sample, item):
    return float(item["answer"] in sample["output_text"])`;

/** Step two: what a good completion is. */
export function RewardField({ draft, errors, onChange }: Props) {
  const rewards = useQuery(rewardsQuery).data?.data ?? [];
  const stored = rewards.find((one) => one.id === draft.reward);
  const read = async (file: File) => onChange({ source: await file.text(), reward: null });
  return (
    <fieldset className={styles.part}>
      <legend>Reward</legend>
      <p>
        A Python function that scores one completion. It runs in a sandbox on the worker, never on this
        server.
      </p>
      {stored && !draft.source ? (
        <div className={styles.chosen}>
          <b>{stored.name}</b>
          <span>revision {stored.revision}</span>
          <Button variant="default" size="compact-sm" onClick={() => onChange({ reward: null })}>
            Change
          </Button>
        </div>
      ) : (
        <>
          {draft.source === null && (
            <FileDrop
              what="a .py file"
              note="It must define grade(sample, item)."
              onFile={(file) => void read(file)}
            />
          )}
          {draft.source === null && rewards.length > 0 && (
            <Select
              aria-label="A stored reward"
              placeholder="or choose a stored reward"
              searchable
              value={null}
              data={rewards.map((one) => ({
                value: one.id,
                label: `${one.name} · revision ${one.revision}`,
              }))}
              onChange={(reward) => onChange({ reward })}
            />
          )}
          <Textarea
            aria-label="Reward source"
            placeholder={`or paste code:\n${EXAMPLE}`}
            autosize
            minRows={4}
            maxRows={20}
            spellCheck={false}
            value={draft.source ?? ""}
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12.5 } }}
            onChange={(event) => onChange({ source: event.currentTarget.value || null })}
          />
        </>
      )}
      {errors["rewards[0]"] && (
        <div className={styles.error} role="alert" data-field-error>
          {errors["rewards[0]"]}
        </div>
      )}
    </fieldset>
  );
}
