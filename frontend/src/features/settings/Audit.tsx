import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useAccess } from "@/api/access";
import { type AuditEntry, auditQuery } from "@/api/audit";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { ago } from "@/lib/format";
import { actionWords } from "./audit-words";
import styles from "./Settings.module.css";

const COLUMNS: Column<AuditEntry>[] = [
  { head: "Who", cell: (one) => one.actor_name },
  { head: "Did", cell: (one) => actionWords(one.action) },
  {
    head: "What",
    grow: true,
    cell: (one) => [one.details?.name, one.details?.role, one.target].filter(Boolean).join(" · "),
  },
  { head: "When", align: "right", cell: (one) => <time title={one.created_at}>{ago(one.created_at)}</time> },
];

/** Who did what, for owners; page by page. */
export function Audit() {
  const { ownersOnly } = useAccess();
  const audit = useInfiniteQuery({ ...auditQuery, enabled: ownersOnly === null });
  const rows = audit.data?.pages.flatMap((page) => page.data);
  if (ownersOnly)
    return (
      <Notice tone="info" title="Audit log">
        {ownersOnly}
      </Notice>
    );
  if (audit.isError && !rows)
    return (
      <Failure
        title="The audit log could not be loaded"
        error={audit.error}
        retry={() => void audit.refetch()}
      />
    );
  return (
    <>
      <DataTable label="Who did what" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} expected={3} />
      {audit.hasNextPage && (
        <div className={styles.bar}>
          <Button
            variant="default"
            loading={audit.isFetchingNextPage}
            onClick={() => void audit.fetchNextPage()}
          >
            Earlier entries
          </Button>
        </div>
      )}
    </>
  );
}
