import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Finding, findingsQuery } from "@/api/jobs";
import { type Observation, trainingCheckQuery } from "@/api/training-check";
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

/**
 * Is it training? The answer of the server, the one thing that matters most, and the rest on demand. One place for
 * each, so that nothing moves while a job runs.
 */
export function TrainingCheck({ job, step, stopped, onPick }: Props) {
  const check = useQuery(trainingCheckQuery(job, step, stopped)).data;
  const findings = useQuery(findingsQuery(job)).data?.data ?? [];
  const row = (one: Observation, brief?: boolean) => (
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
  const onRead = step > 0 ? () => onPick(step) : undefined;
  const observations = check?.observations ?? [];
  const rest = observations.filter(({ code }) => code !== check?.summary.code);
  return (
    <section className={styles.panel} data-live={!stopped || undefined} aria-label="Is it training?">
      <h2>
        <span>Is it training?</span> {check?.message}
      </h2>
      <ul className={styles.list}>{check && row(check.summary, !stopped)}</ul>
      {rest.length > 0 && (
        <details className={styles.more}>
          <summary>
            {rest.length === 1
              ? "Why the loss is not informative"
              : `${count(rest.length - 1, "more observation")}, and why the loss is not informative`}
          </summary>
          <ul className={styles.list}>{rest.map((one) => row(one))}</ul>
        </details>
      )}
    </section>
  );
}
