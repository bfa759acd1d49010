import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { type Sweep, sweepsQuery } from "@/api/sweeps";
import { ButtonLink } from "@/components/ButtonLink";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { StatePill } from "@/components/StatePill";
import { ago, NOTHING, reward } from "@/lib/format";
import styles from "./Sweeps.module.css";
import { shortPath } from "./trials";
import { METHODS, startedOf } from "./words";

const COLUMNS: Column<Sweep>[] = [
  {
    head: "Sweep",
    grow: true,
    cell: (sweep) => (
      <Link to="/sweeps/$id" params={{ id: sweep.id }} data-row title={sweep.name}>
        {sweep.name}
      </Link>
    ),
  },
  { head: "Status", cell: (sweep) => <StatePill state={sweep.status} /> },
  { head: "Jobs", align: "right", cell: (sweep) => `${startedOf(sweep)} of ${sweep.planned}` },
  {
    head: "Best reward",
    align: "right",
    cell: (sweep) => (sweep.best ? <b>{reward(sweep.best.objective)}</b> : NOTHING),
  },
  { head: "Method", hide: "narrow", cell: (sweep) => METHODS[sweep.method] ?? sweep.method },
  {
    head: "Varies",
    hide: "medium",
    cut: true,
    cell: ({ varied }) => (
      <span title={varied.join(", ")}>{varied.map((path) => shortPath(path, varied)).join(", ")}</span>
    ),
  },
  { head: "Started", hide: "narrow", align: "right", cell: (sweep) => ago(sweep.created_at) },
];

/** Sweeps, newest first; a row opens one. */
export function SweepList() {
  const list = useInfiniteQuery(sweepsQuery);
  const rows = list.data?.pages.flatMap((page) => page.data);
  const { refusal } = useAccess();
  const create = refusal === null && <ButtonLink to="/sweeps/new">New sweep</ButtonLink>;
  return (
    <Page title="Sweeps" actions={rows && rows.length > 0 && create}>
      {list.isError && !rows ? (
        <Failure title="Could not load sweeps" error={list.error} retry={() => void list.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No sweeps yet" picture="jobs" action={create}>
          A sweep runs many jobs that differ in chosen settings: a grid, random values, a search that learns,
          an ablation ladder or several seeds. From a terminal: <code>reinforge sweep sweep.yaml</code>
        </Empty>
      ) : (
        <div className={styles.page}>
          <DataTable
            label="Sweeps"
            columns={COLUMNS}
            rows={rows}
            rowKey={(sweep) => sweep.id}
            expected={3}
            keys
          />
          {list.hasNextPage && (
            <div>
              <Button
                variant="default"
                loading={list.isFetchingNextPage}
                onClick={() => void list.fetchNextPage()}
              >
                Earlier sweeps
              </Button>
            </div>
          )}
        </div>
      )}
    </Page>
  );
}
