import { Button } from "@mantine/core";
import { count, number } from "@/lib/format";
import styles from "./Pages.module.css";

type Props = {
  what: string;
  offset: number;
  size: number;
  total: number;
  onOffset: (offset: number) => void;
};

/** Back and on through pages, with where one is. */
export function Pages({ what, offset, size, total, onOffset }: Props) {
  if (total <= size && offset === 0) return null;
  const last = Math.min(offset + size, total);
  return (
    <div className={styles.pages}>
      <Button
        variant="default"
        size="compact-sm"
        disabled={offset === 0}
        onClick={() => onOffset(Math.max(0, offset - size))}
      >
        Back
      </Button>
      <Button
        variant="default"
        size="compact-sm"
        disabled={last >= total}
        onClick={() => onOffset(offset + size)}
      >
        Next
      </Button>
      <span aria-live="polite">
        {number(offset + 1, 6)}–{number(last, 6)} of {count(total, what)}
      </span>
    </div>
  );
}
