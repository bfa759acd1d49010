import { Button } from "@mantine/core";
import { type CSSProperties, useState } from "react";
import { count } from "@/lib/format";
import styles from "./Curves.module.css";
import { type Entry, styleOf } from "./lines";

type Props = {
  entries: readonly Entry[];
  highlighted: readonly string[];
  onHighlighted: (ids: string[]) => void;
};

const FOLDED = 8;

/** The legend of all charts: colour of each job or group; a press highlights it or makes it context. */
export function CurveLegend({ entries, highlighted, onHighlighted }: Props) {
  const [open, setOpen] = useState(false);
  const folds = entries.length > FOLDED;
  const listed = folds && !open ? entries.filter(({ id }) => highlighted.includes(id)) : entries;
  const toggle = (id: string) =>
    onHighlighted(highlighted.includes(id) ? highlighted.filter((one) => one !== id) : [...highlighted, id]);
  return (
    <fieldset className={styles.legend} aria-label="Lines">
      {listed.map(({ id, label }) => {
        const { color, dash } = styleOf(id, highlighted);
        const pressed = highlighted.includes(id);
        return (
          <button
            key={id}
            type="button"
            aria-pressed={pressed}
            title={`${pressed ? "Grey out" : "Highlight"} ${label}`}
            style={{ "--series": `var(--${color})` } as CSSProperties}
            onClick={() => toggle(id)}
          >
            <i data-dash={dash || undefined} />
            <span>{label}</span>
          </button>
        );
      })}
      {folds && (
        <Button variant="subtle" size="compact-xs" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show highlighted only" : `Show all ${count(entries.length, "line")}`}
        </Button>
      )}
    </fieldset>
  );
}
