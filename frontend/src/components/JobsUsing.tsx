import { Link } from "@tanstack/react-router";
import type { Job } from "@/api/jobs";
import { ago, reward } from "@/lib/format";
import { type Column, DataTable } from "./DataTable";
import { StatePill } from "./StatePill";

type Props = {
  label: string;
  jobs: readonly Job[] | undefined;
  /** A column of the screen's own, behind the state. */
  extra?: Column<Job>;
};

/** Jobs that use a dataset, a reward or a base model. */
export function JobsUsing({ label, jobs, extra }: Props) {
  const columns: Column<Job>[] = [
    {
      head: "Job",
      grow: true,
      cell: (job) => (
        <Link to="/jobs/$id" params={{ id: job.id }} data-row title={job.name}>
          {job.name}
        </Link>
      ),
    },
    { head: "Status", cell: (job) => <StatePill state={job.status} note={job.verdict_detail?.note} /> },
    ...(extra ? [extra] : []),
    { head: "Base model", hide: "narrow", cell: (job) => job.model },
    { head: "Held-out reward", align: "right", cell: (job) => reward(job.held_out_reward) },
    { head: "Started by", hide: "medium", cell: (job) => job.created_by },
    { head: "Created", hide: "narrow", align: "right", cell: (job) => ago(job.created_at) },
  ];
  return <DataTable label={label} columns={columns} rows={jobs} rowKey={(job) => job.id} />;
}
