import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type Tracker, trackersQuery, useDeleteTracker } from "@/api/trackers";
import { Confirm } from "@/components/Confirm";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { TrackerForm } from "./TrackerForm";

function Delete({ of, onClose }: { of: Tracker; onClose: () => void }) {
  const remove = useDeleteTracker();
  const done = () => {
    toastDone(`${of.name} deleted.`);
    onClose();
  };
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Delete ${of.name}?`}
      action="Delete tracker"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(of.id, { onSuccess: done })}
    >
      <p>
        Exports to it end, and its address{of.has_key ? " and key are" : " is"} deleted. Runs at the tracker
        are kept.
      </p>
    </Confirm>
  );
}

const KIND = { wandb: "W&B", mlflow: "MLflow" } as const;

function columns(
  onEdit: (tracker: Tracker) => void,
  onDelete: (tracker: Tracker) => void,
  mayChange: boolean,
): Column<Tracker>[] {
  const list: Column<Tracker>[] = [
    {
      head: "Name",
      grow: true,
      cell: (one) => (
        <>
          {one.name} <span className={styles.none}>{KIND[one.kind]}</span>
        </>
      ),
    },
    {
      head: "Destination",
      grow: true,
      hide: "narrow",
      cell: (one) => [one.entity, one.destination].filter(Boolean).join("/"),
    },
    { head: "Jobs", hide: "narrow", cell: (one) => (one.every_job ? "every new job" : "chosen ones") },
    { head: "Key", hide: "medium", cell: (one) => (one.has_key ? "stored" : "none") },
  ];
  if (!mayChange) return list;
  const act = (one: Tracker, word: string, onClick: () => void) => (
    <Button variant="default" size="compact-sm" aria-label={`${word} ${one.name}`} onClick={onClick}>
      {word}…
    </Button>
  );
  list.push({
    head: "Actions",
    align: "right",
    cell: (one) => (
      <span className={styles.rowActions}>
        {act(one, "Change", () => onEdit(one))}
        {act(one, "Delete", () => onDelete(one))}
      </span>
    ),
  });
  return list;
}

/** The project's experiment trackers. Owners manage them. */
export function Trackers() {
  const { ownersOnly } = useAccess();
  const trackers = useQuery(trackersQuery);
  const [adding, { open, close }] = useDisclosure(false);
  const [editing, setEditing] = useState<Tracker>();
  const [deleting, setDeleting] = useState<Tracker>();
  const rows = trackers.data?.data;
  const add = (
    <GatedButton refusal={ownersOnly} variant="default" onClick={open}>
      New tracker
    </GatedButton>
  );
  return (
    <>
      {trackers.isError && !rows ? (
        <Failure
          title="Could not load trackers"
          error={trackers.error}
          retry={() => void trackers.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty title="No trackers yet" picture="key" action={add}>
          Metrics, configuration and results of jobs appear in Weights &amp; Biases or MLflow while they run.
        </Empty>
      ) : (
        <>
          <DataTable
            label="Trackers"
            columns={columns(setEditing, setDeleting, ownersOnly === null)}
            rows={rows}
            rowKey={(one) => one.id}
            expected={1}
          />
          <div className={styles.bar}>{add}</div>
        </>
      )}
      {adding && <TrackerForm onClose={close} />}
      {editing && <TrackerForm tracker={editing} onClose={() => setEditing(undefined)} />}
      {deleting && <Delete of={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  );
}
