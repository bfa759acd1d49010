import { Button, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type AuditEntry, auditQuery } from "@/api/audit";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { ago } from "@/lib/format";
import { actionWords, detailWords } from "./audit-words";
import styles from "./Settings.module.css";

const TYPING_PAUSE = 250;

const COLUMNS: Column<AuditEntry>[] = [
  {
    head: "Time",
    cell: (one) => <time title={one.created_at}>{ago(one.created_at)}</time>,
  },
  {
    head: "User",
    cut: true,
    cell: (one) => (
      <span className={styles.who} title={one.actor}>
        {one.actor_name}
      </span>
    ),
  },
  {
    head: "Action",
    cell: (one) => (
      <>
        {actionWords(one.action)}
        <small className={styles.under}>{detailWords(one.details) || one.target}</small>
      </>
    ),
  },
  {
    head: "Object",
    grow: true,
    hide: "narrow",
    cell: (one) => (
      <span title={[one.target, detailWords(one.details)].filter(Boolean).join(" · ")}>
        {detailWords(one.details)} <span className={styles.none}>{one.target}</span>
      </span>
    ),
  },
];

type Props = { q: string | undefined; onSearch: (q: string | undefined) => void };

/** Who did what, for owners; page by page, or only what some words occur in. */
export function Audit({ q = "", onSearch }: Props) {
  const { ownersOnly } = useAccess();
  const [text, setText] = useState(q);
  const later = useDebouncedCallback((next: string) => onSearch(next.trim() || undefined), TYPING_PAUSE);
  const audit = useInfiniteQuery({ ...auditQuery(q), enabled: ownersOnly === null });
  const rows = audit.data?.pages.flatMap((page) => page.data);
  if (ownersOnly)
    return (
      <Notice tone="info" title="Audit log">
        {ownersOnly}
      </Notice>
    );
  if (audit.isError && !rows)
    return (
      <Failure title="Could not load the audit log" error={audit.error} retry={() => void audit.refetch()} />
    );
  return (
    <>
      <search>
        <TextInput
          aria-label="Search entries"
          placeholder="Name, ID or action: “ada delete”"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            later(event.currentTarget.value);
          }}
        />
      </search>
      {rows?.length === 0 ? (
        <p className={styles.none} role="status">
          {q ? "No matching entries." : "No entries yet."}
        </p>
      ) : (
        <DataTable
          label="Audit log entries"
          columns={COLUMNS}
          rows={rows}
          rowKey={(one) => one.id}
          expected={8}
        />
      )}
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
