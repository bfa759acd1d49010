import { useQuery } from "@tanstack/react-query";
import { datasetsQuery } from "@/api/datasets";
import type { Job } from "@/api/jobs";
import { type Column, DataTable } from "@/components/DataTable";
import { jobColumns, settingText } from "./columns";
import styles from "./JobTable.module.css";

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
  /** Names with commas. */
  columns?: string;
  order?: { sort: string; onSort: (sort: string) => void };
  /** Dotted path of a setting. */
  group?: string;
};

/** Jobs as rows: what they are, where they stand, what they reached. */
export function JobTable({ jobs, label = "Jobs", expected, keys, selection, columns, order, group }: Props) {
  const datasets = useQuery(datasetsQuery).data?.data;
  const nameOf = (id: string) => datasets?.find((one) => one.id === id)?.name;
  const list = jobColumns(columns, nameOf);
  return (
    <DataTable
      label={label}
      columns={selection ? [tickColumn(selection), ...list] : list}
      rows={jobs}
      rowKey={(job) => job.id}
      expected={expected}
      keys={keys}
      order={order}
      groupOf={group ? (job) => `${group}: ${settingText(job.settings?.[group])}` : undefined}
    />
  );
}
