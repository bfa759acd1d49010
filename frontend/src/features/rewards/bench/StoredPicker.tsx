import { NumberInput, Select } from "@mantine/core";
import styles from "./Bench.module.css";
import { writeStored } from "./bench";
import type { useStored } from "./use-stored";

type Props = { stored: ReturnType<typeof useStored>; onRows: (rows: string) => void };

/** Which job, and which of its steps, the completions are taken from. */
export function StoredPicker({ stored, onRows }: Props) {
  const { jobs, job, step, steps } = stored;
  if (jobs.length === 0 && !stored.loading) {
    return <p className={styles.note}>No job with completions yet.</p>;
  }
  return (
    <>
      <Select
        label="Job"
        className={styles.dataset}
        searchable
        allowDeselect={false}
        data={jobs.map((one) => ({ value: one.id, label: one.name }))}
        value={job ?? null}
        onChange={(id) => id && onRows(writeStored({ job: id }))}
      />
      {job && step !== undefined && (
        <NumberInput
          label="Step"
          w={92}
          min={steps[0] ?? 1}
          max={steps.at(-1) ?? 1}
          value={step}
          onChange={(value) => {
            if (typeof value === "number" && steps.includes(value)) onRows(writeStored({ job, step: value }));
          }}
        />
      )}
    </>
  );
}
