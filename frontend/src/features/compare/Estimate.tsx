import type { HeldOutEstimate } from "@/api/compare";
import { NOTHING } from "@/lib/format";
import styles from "./Compare.module.css";

type Props = { of: HeldOutEstimate | null | undefined; text: (value: number) => string };

/** A value with its 95% interval. */
export function Estimate({ of, text }: Props) {
  if (!of) return <>{NOTHING}</>;
  return (
    <span className={styles.estimate} title={`95% interval over ${of.rows} prompts`}>
      <b>{text(of.value)}</b>
      <small>{`${text(of.low)} to ${text(of.high)}`}</small>
    </span>
  );
}
