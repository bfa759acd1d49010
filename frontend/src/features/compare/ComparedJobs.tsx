import { Link } from "@tanstack/react-router";
import type { ComparedJob, HeldOutEstimate, JobComparison } from "@/api/compare";
import { type Column, DataTable } from "@/components/DataTable";
import { StatePill } from "@/components/StatePill";
import { duration, NOTHING, number, reward, signed } from "@/lib/format";
import styles from "./Compare.module.css";

function Estimate({ of, text }: { of: HeldOutEstimate | null | undefined; text: (value: number) => string }) {
  if (!of) return <>{NOTHING}</>;
  return (
    <span className={styles.estimate} title={`95% interval over ${of.rows} prompts`}>
      <b>{text(of.value)}</b>
      <small>{`${text(of.low)} to ${text(of.high)}`}</small>
    </span>
  );
}

const columns = (
  baseline: string,
  priced: boolean,
  onBaseline: (id: string) => void,
): Column<ComparedJob>[] => [
  {
    head: "Job",
    grow: true,
    cell: (job) => (
      <Link to="/jobs/$id" params={{ id: job.id }} title={job.id} data-row>
        {job.name}
      </Link>
    ),
  },
  {
    head: "Baseline",
    cell: (job) => (
      <input
        type="radio"
        className={styles.choice}
        name="baseline"
        aria-label={`Compare with ${job.name}`}
        checked={job.id === baseline}
        onChange={() => onBaseline(job.id)}
      />
    ),
  },
  { head: "Status", cell: (job) => <StatePill state={job.status} /> },
  {
    head: "Before",
    align: "right",
    hide: "narrow",
    cell: (job) => (job.held_out_before == null ? NOTHING : reward(job.held_out_before)),
  },
  { head: "Held-out reward", align: "right", cell: (job) => <Estimate of={job.held_out} text={reward} /> },
  { head: "Difference", align: "right", cell: (job) => <Estimate of={job.difference} text={signed} /> },
  { head: "At step", align: "right", hide: "narrow", cell: (job) => job.held_out_step ?? NOTHING },
  {
    head: "Mean tokens",
    align: "right",
    hide: "medium",
    cell: (job) => (job.completion_tokens == null ? NOTHING : number(job.completion_tokens, 1)),
  },
  { head: "Sampled tokens", align: "right", hide: "wide", cell: (job) => number(job.sampled_tokens, 6) },
  {
    head: "Duration",
    align: "right",
    hide: "narrow",
    cell: (job) => (job.seconds == null ? NOTHING : duration(job.seconds)),
  },
  ...(priced
    ? [
        {
          head: "Cost",
          align: "right" as const,
          cell: (job: ComparedJob) => (job.cost == null ? NOTHING : number(job.cost, 2)),
        },
      ]
    : []),
];

type Props = { comparison: JobComparison | undefined; expected: number; onBaseline: (id: string) => void };

/** The jobs as rows, with the held-out reward of each and its difference from the baseline. */
export function ComparedJobs({ comparison, expected, onBaseline }: Props) {
  const priced = comparison?.jobs.some((job) => job.cost != null) ?? false;
  return (
    <DataTable
      label="Compared jobs"
      columns={columns(comparison?.baseline ?? "", priced, onBaseline)}
      rows={comparison?.jobs}
      rowKey={(job) => job.id}
      expected={expected}
    />
  );
}
