import type { ComparedGroup, JobComparison, JobSpread } from "@/api/compare";
import { type Column, DataTable } from "@/components/DataTable";
import { duration, NOTHING, number, reward, signed } from "@/lib/format";
import styles from "./Compare.module.css";
import { Estimate } from "./Estimate";

function Spread({ of, text }: { of: JobSpread | null; text: (value: number) => string }) {
  if (!of) return <>{NOTHING}</>;
  return (
    <span className={styles.estimate} title={`Mean, minimum and maximum of ${of.jobs} jobs`}>
      <b>{text(of.mean)}</b>
      {of.jobs > 1 && <small>{`${text(of.minimum)} to ${text(of.maximum)}`}</small>}
    </span>
  );
}

const tokens = (value: number) => number(value, 1);
const time = (value: number) => duration(value);
const price = (value: number) => number(value, 2);

const columns = (priced: boolean): Column<ComparedGroup>[] => [
  { head: "Group", grow: true, cell: ({ label }) => <b title={label}>{label}</b> },
  { head: "Jobs", align: "right", cell: ({ jobs }) => jobs.length },
  {
    head: "Held-out reward",
    align: "right",
    cell: ({ held_out }) => <Spread of={held_out} text={reward} />,
  },
  {
    head: "Difference",
    align: "right",
    cell: ({ difference }) => <Estimate of={difference} text={signed} />,
  },
  {
    head: "Before",
    align: "right",
    hide: "wide",
    cell: ({ held_out_before }) => <Spread of={held_out_before} text={reward} />,
  },
  {
    head: "Mean tokens",
    align: "right",
    hide: "medium",
    cell: ({ completion_tokens }) => <Spread of={completion_tokens} text={tokens} />,
  },
  {
    head: "Duration",
    align: "right",
    hide: "medium",
    cell: ({ seconds }) => <Spread of={seconds} text={time} />,
  },
  ...(priced
    ? [
        {
          head: "Cost",
          align: "right" as const,
          cell: ({ cost }: ComparedGroup) => <Spread of={cost} text={price} />,
        },
      ]
    : []),
];

/** One row per group: mean and range over its jobs, and the difference from the baseline's group. */
export function GroupTable({ comparison: { groups = [] } }: { comparison: JobComparison }) {
  return (
    <DataTable
      label="Groups"
      columns={columns(groups.some(({ cost }) => cost !== null))}
      rows={groups}
      rowKey={({ label }) => label}
    />
  );
}
