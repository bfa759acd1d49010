import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ComparedJob, JobComparison } from "@/api/compare";
import { type Column, DataTable } from "@/components/DataTable";
import { StatePill } from "@/components/StatePill";
import { count, duration, NOTHING, number, reward, signed } from "@/lib/format";
import styles from "./Compare.module.css";
import { Estimate } from "./Estimate";
import { labelsOf } from "./place";

const columns = (
  labels: ReadonlyMap<string, string>,
  baseline: string,
  priced: boolean,
  onBaseline: (id: string) => void,
): Column<ComparedJob>[] => [
  {
    head: "Job",
    grow: true,
    cell: (job) => (
      <Link to="/jobs/$id" params={{ id: job.id }} title={job.name} data-row>
        {labels.get(job.id) ?? job.name}
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
  { head: "Status", hide: "narrow", cell: (job) => <StatePill state={job.status} /> },
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

const FOLDED = 10;

/** Jobs in the order of their groups. */
function ordered({ jobs, groups = [] }: JobComparison) {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const labels = new Map(groups.flatMap(({ label, jobs }) => jobs.map((id) => [id, label] as const)));
  const rows = groups.length > 0 ? [...labels.keys()].flatMap((id) => byId.get(id) ?? []) : jobs;
  return { rows, labels };
}

/** The jobs as rows, with the held-out reward of each and its difference from the baseline; many of them fold. */
export function ComparedJobs({ comparison, expected, onBaseline }: Props) {
  const [open, setOpen] = useState(false);
  const priced = comparison?.jobs.some((job) => job.cost != null) ?? false;
  const { rows, labels } = comparison ? ordered(comparison) : { rows: undefined, labels: new Map() };
  const jobs = comparison?.jobs ?? [];
  const names = labelsOf(jobs);
  const short = new Map(jobs.map(({ id }, place) => [id, names[place] ?? id]));
  const folds = rows && rows.length > FOLDED;
  return (
    <>
      <DataTable
        label="Compared jobs"
        columns={columns(short, comparison?.baseline ?? "", priced, onBaseline)}
        rows={folds && !open ? rows.slice(0, FOLDED) : rows}
        rowKey={(job) => job.id}
        expected={Math.min(expected, FOLDED)}
        groupOf={labels.size > 0 ? (job) => labels.get(job.id) ?? "" : undefined}
      />
      {folds && (
        <Button
          className={styles.more}
          variant="subtle"
          size="compact-sm"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? "Show fewer" : `Show all ${count(rows.length, "job")}`}
        </Button>
      )}
    </>
  );
}
