import type { EvaluationSummary } from "@/api/evaluations";
import { count, number, percent, reward } from "@/lib/format";
import { METRIC_WORDS, METRICS } from "./compare";
import styles from "./Evaluations.module.css";
import { Interval } from "./Interval";
import { between, FEW_ROWS } from "./words";

/** What it came to: three estimates with their intervals, and what they rest on. */
export function Figures({ summary }: { summary: EvaluationSummary }) {
  const estimates = METRICS.flatMap((name) => {
    const one = summary.metrics[name];
    return one ? [{ name, one }] : [];
  });
  const rewards = summary.metrics["eval/reward"];
  return (
    <section aria-label="Results" className={styles.part}>
      <dl className={styles.figures}>
        {estimates.map(({ name, one }) => {
          const [title, about] = METRIC_WORDS[name];
          const own = name === "eval/reward";
          const scale = own
            ? ([Math.min(0, rewards?.low ?? 0), Math.max(1, rewards?.high ?? 1)] as const)
            : ([0, 1] as const);
          return (
            <div key={name}>
              <dt>{title}</dt>
              <dd>
                <b>{own ? reward(one.value) : percent(one.value)}</b>
                <Interval of={one} scale={scale} />
                <small>
                  {between(one, own ? reward : percent)}, {about}
                </small>
              </dd>
            </div>
          );
        })}
      </dl>
      <p className={styles.rest}>
        {`${count(summary.rows, "row")}, ${count(summary.completions, "completion")}: `}
        {`${percent(summary.error_share)} not scored, ${percent(summary.truncated_share)} truncated, `}
        {`${number(summary.tokens_mean)} tokens on average. Intervals: 95%, bootstrap over rows.`}
        {summary.rows < FEW_ROWS && ` With fewer than ${FEW_ROWS} rows they are too narrow.`}
      </p>
    </section>
  );
}
