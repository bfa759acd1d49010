import { Button } from "@mantine/core";
import { useMemo } from "react";
import type { Job } from "@/api/jobs";
import { count } from "@/lib/format";
import { lastStep, type SeriesMap } from "../series";
import styles from "./TrainingCheck.module.css";
import { checkTraining, type Observation, type Tone, type Verdict } from "./training-check";

type Props = {
  series: SeriesMap;
  /** Held-out rows per evaluation. */
  rows: number | undefined;
  /** What the server concluded when the job ended or paused: its last word. */
  conclusion: Pick<Job, "verdict" | "verdict_detail">;
  /** No step comes by itself: the job ended or is paused. */
  stopped: boolean;
  onPick: (step: number) => void;
};

const WORD: Record<Tone, string> = { act: "Action needed", watch: "Watch", good: "Good", note: "Note" };
/** Observations that completions are the evidence of. */
const READ = new Set([
  "length",
  "answers",
  "solved",
  "too-hard",
  "reward-errors",
  "no-spread",
  "truncated",
  "not-carried-over",
]);

function Row({ one, onRead }: { one: Observation; onRead: (() => void) | undefined }) {
  return (
    <li className={styles.row} data-tone={one.tone}>
      <b>
        <span className="visually-hidden">{WORD[one.tone]}: </span>
        {one.title}
      </b>
      <p>
        {one.evidence} {one.advice}
      </p>
      {onRead && READ.has(one.id) && (
        <Button variant="default" size="compact-sm" onClick={onRead}>
          See completions
        </Button>
      )}
    </li>
  );
}

const FINE: Observation = {
  id: "fine",
  tone: "good",
  title: "No problems found",
  evidence: "Rewards work, completions are not truncated, and groups have a training signal.",
};
const SOUND: Observation = {
  ...FINE,
  title: "No problems so far",
  evidence: "The first steps look normal.",
};
const WAITING: Observation = {
  id: "waiting",
  tone: "note",
  title: "Waiting for the first step",
  evidence: "Each step adds a point to every curve. After the first steps their meaning is explained here.",
};
const NOTHING_DONE: Observation = {
  ...WAITING,
  title: "No finished step",
  evidence: "The job ended before its first step, so there are no curves or completions.",
};
/** Where nothing is wrong with an ended job that is not known to have learned. */
const UNPROVEN: Partial<Record<NonNullable<Job["verdict"]>, Observation>> = {
  no_change: {
    id: "no-change",
    tone: "watch",
    title: "No improvement",
    evidence: "No errors: rewards work, completions are not truncated, and groups differ.",
    advice: "Try more steps or a higher learning rate.",
  },
  unknown: {
    id: "unknown",
    tone: "note",
    title: "Not enough data",
    evidence: "Rewards work and completions are not truncated, but held-out rows show no clear change.",
    advice: "Use at least 20 held-out rows.",
  },
};
const CALM: Partial<Record<Verdict, Observation>> = { nothing: WAITING, early: SOUND };

/**
 * Is it training? The answer, the one thing that matters most, and the rest on demand. One place for each, so that
 * nothing moves while a job runs.
 */
export function TrainingCheck({ series, rows, conclusion, stopped, onPick }: Props) {
  const outcome = conclusion.verdict ?? undefined;
  const check = useMemo(() => checkTraining(series, { rows, outcome }), [series, rows, outcome]);
  const step = lastStep(series);
  const onRead = step > 0 ? () => onPick(step) : undefined;
  const [top, ...others] = check.observations;
  const urgent = top && (top.tone === "act" || top.tone === "watch");
  const nothing = stopped && check.verdict === "nothing";
  const calm = nothing ? NOTHING_DONE : ((outcome && UNPROVEN[outcome]) ?? CALM[check.verdict]);
  const first = urgent ? top : (calm ?? FINE);
  const rest = urgent ? others : check.observations;
  return (
    <section className={styles.panel} data-live={!stopped || undefined} aria-label="Is it training?">
      <h2>
        <span>Is it training?</span> {conclusion.verdict_detail?.message ?? check.headline}
      </h2>
      <ul className={styles.list}>
        <Row one={first} onRead={onRead} />
      </ul>
      {rest.length > 0 && (
        <details className={styles.more}>
          <summary>
            {rest.length === 1
              ? "Why the loss is not informative"
              : `${count(rest.length - 1, "more observation")}, and why the loss is not informative`}
          </summary>
          <ul className={styles.list}>
            {rest.map((one) => (
              <Row key={one.id} one={one} onRead={onRead} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
