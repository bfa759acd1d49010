import { dots } from "../groups";
import styles from "./Prompts.module.css";

type Props = {
  rewards: readonly (number | null)[];
  mean: number | null;
  scale: readonly [number, number];
};

const WIDTH = 60;
const HEIGHT = 16;
const SMALL = 2.2;
const LARGE = 6;

/** Where the rewards of a group lie: one dot per value, as large as its share, and a bar at the mean. */
export function RewardDots({ rewards, mean, scale }: Props) {
  const [low, high] = scale;
  const x = (at: number) => LARGE + at * (WIDTH - 2 * LARGE);
  const middle = HEIGHT / 2;
  return (
    <svg className={styles.dots} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path d={`M${LARGE} ${middle}H${WIDTH - LARGE}`} className={styles.axis} />
      {dots(rewards, scale).map(({ at, share }) => (
        <circle key={at} cx={x(at)} cy={middle} r={Math.max(SMALL, LARGE * Math.sqrt(share))} />
      ))}
      {mean !== null && (
        <path d={`M${x((mean - low) / (high - low))} 1V${HEIGHT - 1}`} className={styles.mean} />
      )}
    </svg>
  );
}
