import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Finding, findingsQuery, isFinal, type JobDetail, logsQuery, queuePlaceQuery } from "@/api/jobs";
import { Notice } from "@/components/Notice";
import { count } from "@/lib/format";
import styles from "./JobNotices.module.css";
import { isOwn } from "./overview/TrainingCheck";
import { Runners } from "./Runners";
import { isStopped, queueStory, REASONS, sayReason } from "./reasons";

/** Last lines of the log that stand with a failure. */
const LAST_LINES = 6;

function LastLines({ id }: { id: string }) {
  const lines = useQuery(logsQuery(id)).data?.slice(-LAST_LINES) ?? [];
  if (lines.length === 0) return null;
  return (
    <details className={styles.trace}>
      <summary>Last {count(lines.length, "log line")}</summary>
      <pre tabIndex={0}>{lines.map((line) => `${line.level.padEnd(7)} ${line.message}`).join("\n")}</pre>
      <Anchor
        renderRoot={(props) => <Link to="/jobs/$id" params={{ id }} search={{ tab: "logs" }} {...props} />}
      >
        Full log
      </Anchor>
    </details>
  );
}

/** A traceback ends with what went wrong: that is what is in view. */
function toEnd(block: HTMLPreElement | null): void {
  if (block) block.scrollTop = block.scrollHeight;
}

/** Why the job stopped: what happened, what to do, what the code said. */
function Ending({ job }: { job: JobDetail }) {
  const { error, reason, status } = job;
  const stopped = isStopped(status);
  const early = status === "succeeded" && reason != null;
  if (!stopped && !error && !early) return null;
  const more = (
    <>
      {error?.traceback && (
        <details className={styles.trace} open>
          <summary>Error of the reward code</summary>
          <pre tabIndex={0} ref={toEnd}>
            {error.traceback}
          </pre>
        </details>
      )}
      {stopped && <LastLines id={job.id} />}
    </>
  );
  return (
    <Notice
      tone={status === "failed" ? "bad" : early ? "info" : "warn"}
      title={sayReason(status, error?.code ?? reason)}
      more={more}
    >
      {error ? `${error.message} ${error.hint ?? ""}` : REASONS[reason ?? ""]?.[1]}
      {status === "paused" &&
        " Resume continues from the newest resume state; later points are computed again."}
    </Notice>
  );
}

/** Why a job waits: its place in the queue, or no worker online. */
function Queue({ job }: { job: JobDetail }) {
  const story = queueStory(job, useQuery(queuePlaceQuery(job.id)).data);
  if (!story) return null;
  return (
    <Notice tone={story.stuck ? "warn" : "info"} title={story.title}>
      {story.text} {story.command && <code>{story.command}</code>}
    </Notice>
  );
}

const TONE = { error: "bad", warning: "warn", info: "info" } as const;
const WORD = { error: "Needs attention", warning: "Note", info: "Noticed" } as const;
const MOST = 3;

function FindingNotice({ finding }: { finding: Finding }) {
  const severity = finding.severity in TONE ? (finding.severity as keyof typeof TONE) : "info";
  return (
    <Notice tone={TONE[severity]} title={WORD[severity]}>
      {finding.message} {finding.hint}
    </Notice>
  );
}

/** Why the job waits or stopped, what the server warned of, what was noticed on the way. */
export function JobNotices({ job }: { job: JobDetail }) {
  const findings = useQuery(findingsQuery(job.id)).data?.data ?? [];
  // Those of the training check are shown there, and while steps arrive the others too: a notice would move the page.
  const others = isStopped(job.status) || isFinal(job.status) ? findings.filter(isOwn) : [];
  const newest = others.toSorted((a, b) => b.step - a.step).slice(0, MOST);
  return (
    <div className={styles.stack}>
      <Ending job={job} />
      {job.status === "queued" && <Queue job={job} />}
      <Runners job={job} />
      {job.held_out_includes_shaping && (
        <Notice tone="warn" title="Held-out rewards include shaping">
          This job was created before 0.2: its held-out rewards include the shaping of the preset, such as a
          length penalty. Do not compare them with other jobs. To compare, evaluate its adapter with your
          reward.
        </Notice>
      )}
      {(job.warnings ?? []).map((warning) => (
        <Notice key={warning} tone="warn" title="Note">
          {warning}
        </Notice>
      ))}
      {newest.map((finding) => (
        <FindingNotice key={`${finding.code} ${finding.step}`} finding={finding} />
      ))}
    </div>
  );
}
