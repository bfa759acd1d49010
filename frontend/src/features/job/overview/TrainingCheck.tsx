import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Finding, findingsQuery } from "@/api/jobs";
import {
  type Observation,
  type TrainingCheck as TrainingCheckResult,
  trainingCheckQuery,
} from "@/api/training-check";
import { count } from "@/lib/format";
import { Remedies } from "./Remedies";
import styles from "./TrainingCheck.module.css";

type Props = {
  job: string;
  /** The last step with metrics. */
  step: number;
  /** No step comes by itself: the job ended or is paused. */
  stopped: boolean;
  onPick: (step: number) => void;
};

const TONE = { error: "act", warning: "watch", success: "good", info: "note" } as const;
const WORD = { error: "Action needed", warning: "Watch", success: "Good", info: "Note" } as const;
/** Codes of observations that completions are the evidence of. */
const READ = new Set([
  "all_truncated",
  "answers_disagree",
  "equal_lengths",
  "format_gaming",
  "groups_all_equal",
  "groups_all_wrong",
  "judge_disagrees",
  "no_generalization",
  "reward_constant",
  "reward_failing",
  "reward_follows_digits",
  "reward_follows_format",
  "reward_follows_length",
  "reward_follows_repetition",
  "reward_hacking",
  "reward_unreachable",
  "truncated",
  "witness_disagrees",
]);

type RowProps = {
  one: Observation;
  onRead: (() => void) | undefined;
  job: string;
  stopped: boolean;
  finding: Finding | undefined;
  /** What has its fixed room while a job runs leaves the reasons out. */
  brief?: boolean;
};

function Row({ one, onRead, job, stopped, finding, brief }: RowProps) {
  const why = finding && !finding.cause && !brief ? finding.why : "";
  return (
    <li className={styles.row} data-tone={TONE[one.severity]}>
      <b>
        <span className="visually-hidden">{WORD[one.severity]}: </span>
        {one.title}
      </b>
      <p>
        {one.message} {why} {one.hint}
        {finding?.cause && <i> Follows from another finding.</i>}
      </p>
      <Remedies job={job} stopped={stopped} remedies={finding?.remedies ?? []}>
        {onRead && READ.has(one.code) && (
          <Button variant="default" size="compact-sm" onClick={onRead}>
            See completions
          </Button>
        )}
      </Remedies>
    </li>
  );
}

type Answer = { step: number; check: TrainingCheckResult | undefined; findings: readonly Finding[] };

/** Findings that the trainer sends; those of the training check are among its observations. */
export const isOwn = ({ source }: Finding) => source !== "training_check";

/** Name of the list; on one line at every width while the job runs. */
function moreWords(observations: number, notes: number, live: boolean): string {
  const counted = [
    ...(observations > 0 ? [count(observations, "more observation")] : []),
    ...(notes > 0 ? [count(notes, "note")] : []),
  ];
  if (live) return ["Details", ...counted].join(", ");
  if (counted.length === 0) return "Why the loss is not informative";
  return `${counted.join(", ")}, and why the loss is not informative`;
}

/**
 * Is it training? The answer of the server, the one thing that matters most, and the rest on demand. While the job
 * runs, answer and summary have a fixed room, so that the curves below stay in place; the list has them whole, and
 * stays as it was opened.
 */
export function TrainingCheck({ job, step, stopped, onPick }: Props) {
  const check = useQuery(trainingCheckQuery(job, step, stopped)).data;
  const findings = useQuery(findingsQuery(job)).data?.data ?? [];
  const [opened, setOpened] = useState<Answer | null>(null);
  const live = !stopped;
  const newest: Answer = { step, check, findings };
  const listed = (live && opened) || newest;
  const onRead = step > 0 ? () => onPick(step) : undefined;
  const row = (one: Observation, { findings }: Answer, brief?: boolean) => (
    <Row
      brief={brief}
      key={one.code}
      one={one}
      onRead={onRead}
      job={job}
      stopped={stopped}
      finding={findings.find(({ code, resolved_step }) => code === one.code && resolved_step === null)}
    />
  );
  const rest = (check?.observations ?? []).filter(({ code }) => code !== check?.summary.code);
  const notes = live ? findings.filter(isOwn) : [];
  const { summary, observations = [] } = listed.check ?? {};
  const whole = live && summary ? [summary] : [];
  return (
    <section className={styles.panel} data-live={live || undefined} aria-label="Is it training?">
      <h2 title={live ? check?.message : undefined}>
        <span>Is it training?</span> {check?.message}
      </h2>
      <ul className={styles.list}>{check && row(check.summary, newest, live)}</ul>
      {(live || rest.length > 0) && (
        <details
          className={styles.more}
          onToggle={(event) => setOpened(event.currentTarget.open ? newest : null)}
        >
          <summary>{moreWords(rest.length - 1, notes.length, live)}</summary>
          {live && (
            <p>
              As of step {listed.step}: {listed.check?.message}
            </p>
          )}
          <ul className={styles.list}>
            {[...whole, ...observations.filter(({ code }) => code !== summary?.code)].map((one) =>
              row(one, listed),
            )}
            {(live ? listed.findings.filter(isOwn) : []).map((one) => (
              <Row
                key={`${one.code} ${one.step}`}
                one={{ ...one, severity: one.severity as Observation["severity"] }}
                onRead={undefined}
                job={job}
                stopped={stopped}
                finding={undefined}
              />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
