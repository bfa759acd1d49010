import { isFinal, type Job } from "@/api/jobs";
import type { Phase } from "@/api/live";
import styles from "./ProgressLine.module.css";
import { doing, stepTimes, timeLine } from "./progress";
import { lastStep, type SeriesMap } from "./series";

type Props = { job: Job; series: SeriesMap; phase: Phase | undefined };

/** The bar, the step with its phase, and the time that is left. */
export function ProgressLine({ job, series, phase }: Props) {
  const { steps } = job.progress;
  const step = Math.max(job.progress.step, lastStep(series));
  const now = doing(job, phase);
  const times = isFinal(job.status) ? null : stepTimes(series);
  const words = [`Step ${step} of ${steps}`, now].filter(Boolean).join(" · ");
  return (
    <>
      <div
        className={styles.bar}
        data-stopped={
          job.status === "failed" || job.status === "cancelled" || job.status === "paused" || undefined
        }
        role="progressbar"
        aria-label="Steps done"
        aria-valuemin={0}
        aria-valuemax={steps}
        aria-valuenow={step}
      >
        <i style={{ width: `${(100 * step) / Math.max(1, steps)}%` }} />
      </div>
      <div className={styles.text} data-moving={!isFinal(job.status) || undefined}>
        <span>{words}</span>
        {times && <span className={styles.times}>last step: {times}</span>}
        <span className={styles.left}>{timeLine(job, series)}</span>
      </div>
    </>
  );
}
