import type { Estimate } from "@/lib/bootstrap";
import styles from "./Evaluations.module.css";

type Props = {
  of: Estimate;
  /** Ends of the axis; intervals beside each other share them. */
  scale: readonly [number, number];
  /** A value that is marked: no difference. */
  mark?: number;
};

const WIDTH = 120;
const EDGE = 5;

/** An estimate on an axis: a dot, and a bar over the middle 95 %. The figures stand beside it. */
export function Interval({ of, scale: [low, high], mark }: Props) {
  const x = (at: number) => EDGE + ((at - low) / (high - low || 1)) * (WIDTH - 2 * EDGE);
  return (
    <svg className={styles.range} viewBox={`0 0 ${WIDTH} 16`} width={WIDTH} height="16" aria-hidden="true">
      <line x1={EDGE} x2={WIDTH - EDGE} y1="8" y2="8" stroke="var(--line)" />
      {mark !== undefined && <line x1={x(mark)} x2={x(mark)} y1="1" y2="15" stroke="var(--ink3)" />}
      <line x1={x(of.low)} x2={x(of.high)} y1="8" y2="8" stroke="var(--c1)" strokeWidth="4" opacity="0.45" />
      <circle cx={x(of.value)} cy="8" r="4" fill="var(--c1)" />
    </svg>
  );
}
