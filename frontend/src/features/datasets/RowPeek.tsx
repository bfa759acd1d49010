import { Button, Drawer } from "@mantine/core";
import { CopyButton } from "@/components/CopyButton";
import { count, number } from "@/lib/format";
import { valueText } from "@/lib/prompt";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./RowPeek.module.css";

/** Longer values are cut: a cell of megabytes would stop the browser. Copy still takes the whole row. */
const MOST_CHARACTERS = 100_000;

type Props = {
  /** From 0; undefined closes the panel. */
  row: number | undefined;
  values: Record<string, unknown> | undefined;
  heldOut: boolean;
  total: number;
  onMove: (row: number) => void;
  onClose: () => void;
};

function Value({ name, value }: { name: string; value: unknown }) {
  const text = typeof value === "object" && value !== null ? readable(value) : valueText(value);
  return (
    <div>
      <h3 className={styles.name}>
        {name}
        <span>
          {value === null ? "null" : typeof value === "string" ? count(text.length, "character") : ""}
        </span>
      </h3>
      {value !== null && (
        <pre className={styles.value} dir="auto">
          {text.slice(0, MOST_CHARACTERS)}
          {text.length > MOST_CHARACTERS && `\n… ${count(text.length - MOST_CHARACTERS, "more character")}`}
        </pre>
      )}
    </div>
  );
}

/** Messages as a conversation, other structures as indented JSON. */
function readable(value: object): string {
  const text = valueText(value);
  return text.startsWith("{") || text.startsWith("[") ? JSON.stringify(value, null, 2) : text;
}

/** One row, whole, with its neighbours one key away. */
export function RowPeek({ row, values, heldOut, total, onMove, onClose }: Props) {
  const open = row !== undefined;
  const at = row ?? 0;
  useShortcuts("dataset", open ? { j: () => onMove(at + 1), k: () => onMove(at - 1) } : {}, {
    inDialog: true,
  });
  return (
    <Drawer
      opened={open}
      onClose={onClose}
      position="right"
      size="min(640px, 100vw)"
      title={`Row ${number(at + 1, 6)} of ${number(total, 6)}${heldOut ? " · held out" : ""}`}
      overlayProps={{ backgroundOpacity: 0.15 }}
      closeButtonProps={{ "aria-label": "Close" }}
      transitionProps={{ duration: 120 }}
    >
      <div className={styles.bar}>
        <Button variant="default" size="compact-sm" disabled={at === 0} onClick={() => onMove(at - 1)}>
          Previous
        </Button>
        <Button variant="default" size="compact-sm" disabled={at + 1 >= total} onClick={() => onMove(at + 1)}>
          Next
        </Button>
        <CopyButton size="compact-sm" text={JSON.stringify(values ?? {}, null, 2)} label="Copy as JSON" />
      </div>
      <div className={styles.values} aria-busy={values === undefined}>
        {Object.entries(values ?? {}).map(([name, value]) => (
          <Value key={name} name={name} value={value} />
        ))}
      </div>
    </Drawer>
  );
}
