import { ActionIcon, Button, TextInput } from "@mantine/core";
import { NumberText } from "@/components/spec/Control";
import { freeName } from "@/lib/grader";
import { isObject, type Json } from "@/lib/paths";
import { useBuilder } from "./context";
import styles from "./Grader.module.css";

type Props = {
  id: string;
  label: string;
  value: Json | undefined;
  invalid: boolean;
  onChange: (value: Json | undefined) => void;
};

/** Names with a number each: labels of a classifier and what they are worth. */
export function ValueMap({ id, label, value, invalid, onChange }: Props) {
  const { readOnly } = useBuilder();
  const rows = isObject(value) ? Object.entries(value) : [];
  const set = (next: [string, Json][]) => onChange(next.length > 0 ? Object.fromEntries(next) : undefined);
  const change = (at: number, row: [string, Json]) => set(rows.map((one, i) => (i === at ? row : one)));
  return (
    <div className={styles.values} id={id}>
      {rows.map(([name, number], i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row keeps its place while its name is typed
        <div key={i} className={styles.value}>
          <TextInput
            aria-label={`${label}, name ${i + 1}`}
            value={name}
            error={invalid}
            disabled={readOnly}
            maxLength={64}
            onChange={(event) => {
              const taken = rows.some(([other], at) => at !== i && other === event.currentTarget.value);
              if (!taken) change(i, [event.currentTarget.value, number]);
            }}
          />
          <NumberText
            id={`${id}-${i}`}
            label={`${label}, value of ${name}`}
            invalid={invalid}
            disabled={readOnly}
            placeholder="0"
            value={number}
            onChange={(next) => change(i, [name, next ?? 0])}
          />
          {!readOnly && (
            <ActionIcon
              variant="default"
              size={36}
              aria-label={`Remove ${name}`}
              onClick={() => set(rows.filter((_, at) => at !== i))}
            >
              ×
            </ActionIcon>
          )}
        </div>
      ))}
      {!readOnly && (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() =>
            set([
              ...rows,
              [
                freeName(
                  "label",
                  rows.map(([name]) => name),
                ),
                1,
              ],
            ])
          }
        >
          Add a label
        </Button>
      )}
    </div>
  );
}
