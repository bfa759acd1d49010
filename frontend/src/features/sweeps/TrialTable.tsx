import { Link } from "@tanstack/react-router";
import type { SweepDetail, SweepTrial } from "@/api/sweeps";
import { type Column, DataTable } from "@/components/DataTable";
import { StatePill } from "@/components/StatePill";
import { duration, NOTHING, number, reward } from "@/lib/format";
import { settingOf, shortPath, sorted, textOf } from "./trials";

const ENDED_BY: Record<string, string> = {
  halving: "halving",
  budget: "budget",
  sweep_cancelled: "sweep cancelled",
};

const nameOf = (trial: SweepTrial) =>
  trial.seed === null ? trial.name : `${trial.name}, seed ${trial.seed}`;

const columns = (sweep: SweepDetail): Column<SweepTrial>[] => [
  {
    head: "Job",
    sort: "number",
    grow: true,
    cell: (trial) =>
      trial.job ? (
        <Link to="/jobs/$id" params={{ id: trial.job }} data-row title={nameOf(trial)}>
          {nameOf(trial)}
        </Link>
      ) : (
        <span title={trial.error?.message}>{nameOf(trial)}</span>
      ),
  },
  {
    head: "Held-out reward",
    sort: "objective",
    align: "right",
    cell: (trial) => (trial.objective === null ? NOTHING : <b>{reward(trial.objective)}</b>),
  },
  {
    head: "Status",
    cell: (trial) => (
      <StatePill state={trial.status} note={trial.ended_by ? ENDED_BY[trial.ended_by] : undefined} />
    ),
  },
  ...sweep.varied.map(
    (path): Column<SweepTrial> => ({
      head: shortPath(path, sweep.varied),
      sort: path,
      align: "right",
      hide: "narrow",
      cell: (trial) => textOf(settingOf(trial, path)),
    }),
  ),
  {
    head: "Step",
    align: "right",
    hide: "medium",
    cell: (trial) => (trial.steps ? `${trial.step} of ${trial.steps}` : NOTHING),
  },
  {
    head: "Worker time",
    sort: "seconds",
    align: "right",
    hide: "medium",
    cell: (trial) => (trial.seconds ? duration(trial.seconds) : NOTHING),
  },
  ...(sweep.cost === null
    ? []
    : [
        {
          head: "Cost",
          align: "right" as const,
          hide: "medium" as const,
          cell: (trial: SweepTrial) => (trial.cost === null ? NOTHING : number(trial.cost, 2)),
        },
      ]),
];

type Props = { sweep: SweepDetail; by: string | undefined; onBy: (by: string) => void };

/** The jobs of a sweep, by held-out reward unless ordered otherwise. */
export function TrialTable({ sweep, by, onBy }: Props) {
  return (
    <DataTable
      label="Jobs of the sweep"
      columns={columns(sweep)}
      rows={sorted(sweep.trials, by)}
      rowKey={(trial) => trial.number}
      keys
      order={{ sort: by ?? "-objective", onSort: onBy }}
    />
  );
}
