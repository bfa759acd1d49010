import { SIDE_WORD, type Side, side } from "@/lib/advantage";
import { signed } from "@/lib/format";
import styles from "./Card.module.css";

const ARROW: Record<Side, string> = { positive: "▲", negative: "▼", neutral: "=", none: "" };

/** The advantage by colour, arrow, sign and number. */
export function Advantage({ value }: { value: number | null }) {
  const where = side(value);
  if (where === "none") return null;
  return (
    <span className={styles.advantage} data-side={where} title={`Advantage: ${SIDE_WORD[where]}`}>
      <span className="visually-hidden">advantage </span>
      <span aria-hidden="true">{ARROW[where]} </span>
      {signed(value)}
    </span>
  );
}
