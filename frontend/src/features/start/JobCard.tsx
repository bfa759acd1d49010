import { useElementSize } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { sparkQuery } from "@/api/job-list";
import { isFinal, type Job, stateNote } from "@/api/jobs";
import { Change } from "@/components/Change";
import { Tag } from "@/components/Page";
import { Sparkline } from "@/components/Sparkline";
import { StatePill } from "@/components/StatePill";
import { NOTHING, range, reward, signed } from "@/lib/format";
import { describe, latest } from "@/lib/sentence";
import styles from "./JobCard.module.css";

function Figure({ name, children, note }: { name: string; children: ReactNode; note?: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children}
        <small>{note}</small>
      </dd>
    </div>
  );
}

/** A moving job's place and how long it still takes; a finished one's last word. */
function Progress({ job }: { job: Job }) {
  const { step, steps, eta_low_seconds: low, eta_high_seconds: high } = job.progress;
  return (
    <div className={styles.progress}>
      <progress max={steps} value={step} aria-label="Steps done" />
      <span>
        Step {step} of {steps}
      </span>
      {!isFinal(job.status) && low != null && high != null && <span>about {range(low, high)} left</span>}
    </div>
  );
}

/** `evaluations`: how many of the held-out rows there were so far. */
function heldOutNote(job: Job, evaluations: number | undefined) {
  const { held_out_reward: now, held_out_reward_before: before, status } = job;
  if (now == null || before == null) return isFinal(status) ? "never evaluated" : "first evaluation pending";
  if (evaluations === 1) return "the base model, before training";
  return (
    <>
      <Change value={now - before} text={signed(now - before)} better="higher" /> vs base {reward(before)}
    </>
  );
}

/** Text under the curve: its description, or why there is none. */
function caption(job: Job, words: string | null): string {
  if (words !== null) return words;
  if (isFinal(job.status)) return job.progress.step > 0 ? "" : "The job ended before its first step.";
  return job.progress.step > 0 ? "" : "The reward curve appears with the first step.";
}

/** One job large: state, what it reached, its reward curve. The whole card opens the job. */
export function JobCard({ job, eyebrow, open }: { job: Job; eyebrow?: string; open: string }) {
  const spark = useQuery(sparkQuery(job)).data;
  const { ref, width, height } = useElementSize();
  const { held_out_reward: now, held_out_reward_before: before } = job;
  const words = describe(spark?.train, { up: "Reward up", down: "Reward down", format: reward });
  const evaluations = spark?.heldOut?.values.filter((value) => value !== null).length;
  const train = latest(spark?.train)?.value;
  return (
    <article className={styles.card}>
      <div className={styles.said}>
        {eyebrow && <p className={styles.eyebrow}>{eyebrow}</p>}
        <h2>
          <Link to="/jobs/$id" params={{ id: job.id }} className={styles.open}>
            {job.name}
          </Link>
        </h2>
        <div className={styles.meta}>
          <StatePill state={job.status} note={stateNote(job)} />
          <Tag>{job.model}</Tag>
          {job.reward_names.map((name) => (
            <Tag key={name}>reward “{name}”</Tag>
          ))}
        </div>
        <dl className={styles.figures}>
          <Figure name="Held-out reward" note={heldOutNote(job, evaluations)}>
            {reward(now ?? before)}
          </Figure>
          <Figure
            name="Train reward"
            note={
              train === undefined ? (isFinal(job.status) ? "no finished step" : "no step yet") : "latest step"
            }
          >
            {train === undefined ? NOTHING : reward(train)}
          </Figure>
        </dl>
        <span className={styles.go} aria-hidden="true">
          {open} →
        </span>
      </div>
      <figure className={styles.picture}>
        <div className={styles.plot} ref={ref}>
          {spark?.train && width > 0 && (
            <Sparkline
              train={spark.train}
              heldOut={spark.heldOut}
              steps={job.progress.steps}
              width={width}
              height={height}
              label={words}
            />
          )}
        </div>
        <figcaption>{caption(job, spark?.train ? words : null)}</figcaption>
        <Progress job={job} />
      </figure>
    </article>
  );
}
