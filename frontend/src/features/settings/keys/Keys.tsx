import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type ApiKey, keysQuery, useRevokeKey } from "@/api/keys";
import { meQuery } from "@/api/session";
import { Confirm } from "@/components/Confirm";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { ago } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { KeyForm } from "./KeyForm";
import { endWords, mayWords, scopeWords } from "./key-draft";

function Revoke({ of, mine, onClose }: { of: ApiKey; mine: boolean; onClose: () => void }) {
  const revoke = useRevokeKey();
  const done = () => {
    toastDone(`${of.name} revoked.`);
    onClose();
  };
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Revoke ${of.name}?`}
      action="Revoke key"
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate(of.id, { onSuccess: done })}
    >
      <p>
        All clients that use <code>{of.prefix}…</code> stop working immediately, including browsers signed in
        with it. This cannot be undone.
      </p>
      <p>{of.last_used_at ? `It was last used ${ago(of.last_used_at)}.` : "It was never used."}</p>
      {mine && <p>This browser is signed in with it: you must sign in again with another key.</p>}
    </Confirm>
  );
}

const columns = (mine: string | undefined, onRevoke: (key: ApiKey) => void): Column<ApiKey>[] => [
  {
    head: "Name",
    grow: true,
    cell: (key) => (
      <>
        {key.name} {key.id === mine && <span className={styles.none}>(this session)</span>}
      </>
    ),
  },
  { head: "Prefix", hide: "narrow", cell: (key) => <code>{key.prefix}…</code> },
  {
    head: "Scopes",
    hide: "narrow",
    cut: true,
    cell: (key) => (
      <span title={mayWords(key)}>
        {key.administrator ? "runs the platform" : key.role}
        {key.scopes && <span className={styles.none}> · {scopeWords(key.scopes)}</span>}
      </span>
    ),
  },
  { head: "Created", hide: "medium", align: "right", cell: (key) => ago(key.created_at) },
  {
    head: "Last used",
    hide: "narrow",
    align: "right",
    cell: (key) => (key.last_used_at ? ago(key.last_used_at) : "never"),
  },
  {
    head: "Expires",
    align: "right",
    cell: (key) => <span title={key.expires_at ?? undefined}>{endWords(key.expires_at)}</span>,
  },
  {
    head: "Action",
    align: "right",
    cell: (key) => (
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Revoke ${key.name}`}
        onClick={() => onRevoke(key)}
      >
        Revoke…
      </Button>
    ),
  },
];

export function Keys() {
  const { ownersOnly } = useAccess();
  const mine = useQuery(meQuery).data?.key;
  const keys = useQuery({ ...keysQuery, enabled: ownersOnly === null });
  const [making, { open, close }] = useDisclosure(false);
  const [revoking, setRevoking] = useState<ApiKey>();
  const rows = keys.data?.data;
  const add = (
    <Button variant="default" onClick={open}>
      New key
    </Button>
  );
  if (ownersOnly)
    return (
      <Notice tone="info" title="API keys">
        {ownersOnly}
      </Notice>
    );
  return (
    <>
      {keys.isError && !rows ? (
        <Failure title="Could not load keys" error={keys.error} retry={() => void keys.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No API keys" picture="key" action={add}>
          Scripts, CI and the command line use API keys.
        </Empty>
      ) : (
        <>
          <DataTable
            label="Active keys"
            columns={columns(mine, setRevoking)}
            rows={rows}
            rowKey={(key) => key.id}
            expected={2}
          />
          <div className={styles.bar}>{add}</div>
        </>
      )}
      {making && <KeyForm onClose={close} />}
      {revoking && (
        <Revoke of={revoking} mine={revoking.id === mine} onClose={() => setRevoking(undefined)} />
      )}
    </>
  );
}
