import { useQuery } from "@tanstack/react-query";
import { type Finding, findingsQuery, type JobDetail } from "@/api/jobs";
import { Notice } from "@/components/Notice";
import styles from "./Banners.module.css";

const TITLES: Record<string, string> = {
  paused: "Paused",
  failed: "Failed",
  queued: "Queued again",
};

/** `out_of_memory` → `out of memory`: the reason's code as words. */
const words = (code: string) => code.replaceAll("_", " ");

function Ending({ job }: { job: JobDetail }) {
  const { error, reason, status } = job;
  if (!error && (!reason || !(status in TITLES))) return null;
  const title = `${TITLES[status] ?? "Problem"}: ${words(error?.code ?? reason ?? "")}`;
  const trace = error?.traceback && (
    <details className={styles.trace} open>
      <summary>What the reward or trainer said</summary>
      <pre tabIndex={0}>{error.traceback}</pre>
    </details>
  );
  return (
    <Notice tone={status === "failed" ? "bad" : "warn"} title={title} more={trace}>
      {error?.message} {error?.hint}
    </Notice>
  );
}

const TONE = { error: "bad", warning: "warn", info: "info" } as const;
const WORD = { error: "Needs attention", warning: "Worth knowing", info: "Noticed" } as const;
const MOST = 3;

function FindingNotice({ finding }: { finding: Finding }) {
  const severity = finding.severity in TONE ? (finding.severity as keyof typeof TONE) : "info";
  return (
    <Notice tone={TONE[severity]} title={WORD[severity]}>
      {finding.message} {finding.hint}
    </Notice>
  );
}

/** Why the job stopped, what the server warned of, what was noticed on the way. */
export function Banners({ job }: { job: JobDetail }) {
  const findings = useQuery(findingsQuery(job.id)).data?.data ?? [];
  const newest = findings.toSorted((a, b) => b.step - a.step).slice(0, MOST);
  const warnings = job.warnings ?? [];
  const quiet =
    !job.error && !(job.reason && job.status in TITLES) && newest.length === 0 && warnings.length === 0;
  if (quiet) return null;
  return (
    <div className={styles.stack}>
      <Ending job={job} />
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn" title="Worth knowing">
          {warning}
        </Notice>
      ))}
      {newest.map((finding) => (
        <FindingNotice key={`${finding.code} ${finding.step}`} finding={finding} />
      ))}
    </div>
  );
}
