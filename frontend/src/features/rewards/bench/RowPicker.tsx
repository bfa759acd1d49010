import { ActionIcon, NumberInput, Select, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { datasetsQuery } from "@/api/datasets";
import { count } from "@/lib/format";
import styles from "./Bench.module.css";
import { MOST_ROWS, type RowChoice, tidy } from "./bench";
import { StoredPicker } from "./StoredPicker";
import { BY_HAND, STORED } from "./use-cases";
import type { useStored } from "./use-stored";

type Props = {
  dataset: string | undefined;
  /** Completions that a job has stored, where those are what it is tried on. */
  stored: ReturnType<typeof useStored>;
  choice: RowChoice;
  total: number;
  item: string;
  itemFault: string | null;
  onDataset: (id: string) => void;
  onChoice: (choice: RowChoice) => void;
  /** The choice of a job and its step. */
  onRows: (rows: string) => void;
  onItem: (text: string) => void;
};

const whole = (value: number | string, least = 1) =>
  typeof value === "number" && value >= least ? Math.round(value) : undefined;

/** Which dataset and which of its rows the reward is tried on, what a job has stored, or one row written by hand. */
export function RowPicker(props: Props) {
  const { dataset, stored, choice, total, item, itemFault, onDataset, onChoice, onRows, onItem } = props;
  const datasets = useQuery(datasetsQuery);
  const options = (datasets.data?.data ?? []).map((one) => ({
    value: one.id,
    label: `${one.name} · ${count(one.rows, "row")}`,
  }));
  return (
    <>
      <div className={styles.picker}>
        <Select
          label="Test on"
          className={styles.dataset}
          data={[
            ...options,
            { value: STORED, label: "Completions of a job" },
            { value: BY_HAND, label: "Custom row" },
          ]}
          value={dataset ?? (stored.on ? STORED : BY_HAND)}
          onChange={(id) => id && onDataset(id)}
          allowDeselect={false}
        />
        {stored.on && <StoredPicker stored={stored} onRows={onRows} />}
        {dataset !== undefined && (
          <>
            <Select
              label="Rows"
              w={120}
              allowDeselect={false}
              data={[
                { value: "range", label: "From – to" },
                { value: "random", label: "Random" },
              ]}
              value={choice.how}
              onChange={(how) =>
                onChoice(
                  how === "random"
                    ? { how: "random", count: 4, seed: 1 }
                    : { how: "range", from: 1, to: Math.min(4, Math.max(1, total)) },
                )
              }
            />
            {choice.how === "range" ? (
              <>
                <NumberInput
                  label="From"
                  w={84}
                  min={1}
                  max={total || undefined}
                  value={choice.from}
                  onChange={(value) => {
                    const from = whole(value);
                    if (from) onChoice(tidy({ how: "range", from, to: from + choice.to - choice.from }));
                  }}
                />
                <NumberInput
                  label="To"
                  w={84}
                  min={choice.from}
                  max={Math.min(total || MOST_ROWS, choice.from + MOST_ROWS - 1)}
                  value={choice.to}
                  onChange={(value) => {
                    const to = whole(value);
                    if (to) onChoice(tidy({ ...choice, to }));
                  }}
                />
              </>
            ) : (
              <>
                <NumberInput
                  label="Count"
                  w={92}
                  min={1}
                  max={MOST_ROWS}
                  value={choice.count}
                  onChange={(value) => {
                    const rows = whole(value);
                    if (rows) onChoice(tidy({ ...choice, count: rows }));
                  }}
                />
                <ActionIcon
                  variant="default"
                  size={36}
                  aria-label="Choose other rows"
                  title="Choose other rows"
                  onClick={() => onChoice({ ...choice, seed: choice.seed + 1 })}
                >
                  ↻
                </ActionIcon>
              </>
            )}
          </>
        )}
      </div>
      {dataset === undefined && !stored.on && (
        <Textarea
          label="Row"
          description="The item that the reward receives: one JSON object."
          autosize
          minRows={2}
          maxRows={8}
          value={item}
          error={itemFault}
          classNames={{ input: styles.mono }}
          onChange={(event) => onItem(event.currentTarget.value)}
        />
      )}
    </>
  );
}
