import styles from "./Change.module.css";

type Props = {
  value: number;
  text: string;
  /** Which direction is good; without one the colour stays neutral. */
  better?: "higher" | "lower" | "neither";
};

/** A change with arrow and sign; blue is better, orange worse. */
export function Change({ value, text, better = "neither" }: Props) {
  const good =
    value === 0 || better === "neither" ? undefined : value > 0 === (better === "higher") ? "yes" : "no";
  return (
    <span className={styles.change} data-good={good}>
      {value === 0 ? "" : value > 0 ? "▲ " : "▼ "}
      {text}
    </span>
  );
}
