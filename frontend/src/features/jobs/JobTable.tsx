import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { datasetsQuery } from "@/api/datasets";
import { isFinal, type Job } from "@/api/jobs";
import { type Column, DataTable } from "@/components/DataTable";
import { StatePill } from "@/components/StatePill";
import { ago, duration, NOTHING } from "@/lib/format";
import { HeldOut } from "./HeldOut";
import { JobSpark } from "./JobSpark";
import styles from "./JobTable.module.css";

function took({ started_at, finished_at }: Job): string {
  if (!started_at) return NOTHING;
  const end = finished_at ? Date.parse(finished_at) : Date.now();
  return duration((end - Date.parse(started_at)) / 1000);
}

function State({ job }: { job: Job }) {
  const { step, steps } = job.progress;
  return (
    <span className={styles.state}>
      <StatePill state={job.status} note={job.verdict_detail?.note} />
      {!isFinal(job.status) && step > 0 && (
        <span className={styles.place}>
          {step} of {steps}
        </span>
      )}
    </span>
  );
}

const columns = (nameOf: (dataset: string) => string | undefined): Column<Job>[] => [
  {
    head: "Job",
    grow: true,
    cell: (job) => (
      <Link to="/jobs/$id" params={{ id: job.id }} data-row title={job.name}>
        {job.name}
      </Link>
    ),
  },
  { head: "Reward", hide: "narrow", cell: (job) => <JobSpark job={job} /> },
  { head: "Status", cell: (job) => <State job={job} /> },
  { head: "Held-out reward", align: "right", cell: (job) => <HeldOut job={job} /> },
  { head: "Model", hide: "medium", cell: (job) => job.model },
  {
    head: "Dataset",
    hide: "medium",
    cell: (job) => <span className={styles.cut}>{nameOf(job.dataset) ?? NOTHING}</span>,
  },
  { head: "By", hide: "wide", cell: (job) => job.created_by ?? NOTHING },
  { head: "Created", hide: "narrow", align: "right", cell: (job) => ago(job.created_at) },
  { head: "Duration", hide: "wide", align: "right", cell: took },
];

/** Jobs that are ticked, and how a tick changes. */
export type Selection = { ids: ReadonlySet<string>; onToggle: (id: string) => void };

const tickColumn = ({ ids, onToggle }: Selection): Column<Job> => ({
  head: "Select",
  cell: (job) => (
    <input
      type="checkbox"
      className={styles.tick}
      aria-label={`Select ${job.name}`}
      checked={ids.has(job.id)}
      onChange={() => onToggle(job.id)}
    />
  ),
});

type Props = {
  jobs: readonly Job[] | undefined;
  label?: string;
  expected?: number;
  keys?: boolean;
  selection?: Selection;
};

/** Jobs as rows: what they are, where they stand, what they reached. */
export function JobTable({ jobs, label = "Jobs", expected, keys, selection }: Props) {
  const datasets = useQuery(datasetsQuery).data?.data;
  const nameOf = (id: string) => datasets?.find((one) => one.id === id)?.name;
  return (
    <DataTable
      label={label}
      columns={selection ? [tickColumn(selection), ...columns(nameOf)] : columns(nameOf)}
      rows={jobs}
      rowKey={(job) => job.id}
      expected={expected}
      keys={keys}
    />
  );
}
