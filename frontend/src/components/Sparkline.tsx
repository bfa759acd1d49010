import { type Curve, sparkPaths } from "@/lib/spark";
import styles from "./Sparkline.module.css";

type Props = {
  train: Curve | undefined;
  heldOut?: Curve | undefined;
  /** Steps of the whole job: the part that is still to come stays empty. */
  steps: number;
  width: number;
  height: number;
  /** Says in words what the picture shows. */
  label: string;
};

/** The line closed along the bottom, piece by piece. */
const under = (line: string, height: number) =>
  line.replace(/M([\d.]+)( [^M]*)/g, (piece, from: string) => {
    const to = /([\d.]+) [\d.]+$/.exec(piece)?.[1] ?? from;
    return `${piece}L${to} ${height}L${from} ${height}Z`;
  });

/** A curve as small as a word: the train reward as a line, held-out evaluations as dots. No axis, no numbers. */
export function Sparkline({ train, heldOut, steps, width, height, label }: Props) {
  const { line, dots } = sparkPaths(train, heldOut, { steps, width, height, margin: height > 60 ? 5 : 3 });
  return (
    <svg
      className={styles.spark}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      <path className={styles.base} d={`M0 ${height - 0.5}H${width}`} />
      {height > 60 && <path className={styles.area} d={under(line, height)} />}
      <path className={styles.line} d={line} />
      {dots.map(([x, y]) => (
        <circle key={x} className={styles.dot} cx={x} cy={y} r={height > 60 ? 3 : 1.6} />
      ))}
    </svg>
  );
}
