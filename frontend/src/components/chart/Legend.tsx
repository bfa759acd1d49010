import type { CSSProperties } from "react";
import styles from "./Chart.module.css";
import type { ChartColor } from "./model";

export type Mark = {
  label: string;
  color: ChartColor;
  kind: "line" | "dash" | "sparse" | "band" | "span";
  /** What is under the crosshair. */
  value: string;
};

type Props = {
  marks: readonly Mark[];
  hidden: ReadonlySet<string>;
  onToggle: (label: string) => void;
  /** Under the crosshair values need the room: names are shortened where both do not fit. */
  terse: boolean;
};

const SPAN_MEANING = "minimum and maximum of the steps drawn as one point";

/** Colour and dash or marker of each line, with its value under the crosshair; each can be switched off. */
export function Legend({ marks, hidden, onToggle, terse }: Props) {
  return (
    <div className={styles.legend} data-terse={terse || undefined}>
      {marks.map(({ label, color, kind, value }) => {
        const visible = !hidden.has(label);
        return (
          <button
            key={label}
            type="button"
            aria-pressed={visible}
            aria-label={label}
            title={`${visible ? "Hide" : "Show"} ${kind === "span" ? SPAN_MEANING : label}`}
            style={{ "--series": `var(--${color})` } as CSSProperties}
            onClick={() => onToggle(label)}
          >
            <i data-kind={kind} />
            <span>{label}</span>
            {value && <b>{value}</b>}
          </button>
        );
      })}
    </div>
  );
}
