import { number, tick } from "@/lib/format";
import styles from "./Across.module.css";
import { type StepOfPrompt, trend } from "./across";

type Props = {
  steps: readonly StepOfPrompt[];
  scale: readonly [number, number];
  from: number;
  to: number;
};

const WIDTH = 1000;
const HEIGHT = 72;

/** The prompt's mean reward over steps. The table under it has the numbers and the choice. */
export function PromptCurve({ steps, scale: [low, high], from, to }: Props) {
  const [first, last] = [steps[0]?.step ?? 0, steps.at(-1)?.step ?? 1];
  const x = (step: number) => (last === first ? WIDTH / 2 : ((step - first) / (last - first)) * WIDTH);
  const y = (mean: number) => HEIGHT - ((mean - low) / (high - low)) * HEIGHT;
  const measured = steps.filter((one) => one.mean !== null);
  const at = measured.map((one) => `${x(one.step)} ${y(one.mean as number)}`);
  const words = trend(steps, number);
  return (
    <figure className={styles.curve}>
      <figcaption>
        <b>Mean reward of this prompt</b> {words}
      </figcaption>
      <div className={styles.plot}>
        <span className={styles.high}>{tick(high)}</span>
        <span className={styles.low}>{tick(low)}</span>
        <svg viewBox={`0 -6 ${WIDTH} ${HEIGHT + 12}`} preserveAspectRatio="none" aria-hidden="true">
          <path d={`M0 0H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} className={styles.grid} />
          <path d={`M${x(from)} 0V${HEIGHT}M${x(to)} 0V${HEIGHT}`} className={styles.chosen} />
          {at.length > 1 && <path d={`M${at.join("L")}`} className={styles.line} />}
          <path d={at.map((point) => `M${point}h0`).join("")} className={styles.points} />
        </svg>
        <span className={styles.ends}>
          <span>step {first}</span>
          <span>{last}</span>
        </span>
      </div>
    </figure>
  );
}
