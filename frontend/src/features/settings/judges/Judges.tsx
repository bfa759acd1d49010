import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type Judge, judgesQuery, useDeleteJudge, useTryJudge } from "@/api/judges";
import { Confirm } from "@/components/Confirm";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { number } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { JudgeForm } from "./JudgeForm";

function Delete({ of, onClose }: { of: Judge; onClose: () => void }) {
  const remove = useDeleteJudge();
  const done = () => {
    toastDone(`${of.name} deleted.`);
    onClose();
  };
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Delete ${of.name}?`}
      action="Delete judge"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(of.id, { onSuccess: done })}
    >
      <p>
        Its address{of.has_key ? " and its key are" : " is"} deleted. Graders that use it can no longer score;
        running jobs that use it pause at their next attempt.
      </p>
    </Confirm>
  );
}

/** What a judge answered to one question that every judge can answer. */
function Tried({ name, tried }: { name: string; tried: ReturnType<typeof useTryJudge> }) {
  if (tried.isPending)
    return <p role="status">Requesting a score from {name} for “4” as the answer to “2 + 2 =”…</p>;
  if (tried.error) return <Failure title={`${name} could not be tested`} error={tried.error} />;
  const { result, loadError } = tried.data ?? {};
  if (result?.status !== "ok")
    return (
      <Notice tone="bad" title={`${name} did not respond`}>
        {loadError ?? result?.message ?? "No result was returned."}
      </Notice>
    );
  return (
    <Notice tone="info" title={`${name} answers`}>
      Score of “4” for “2 + 2 =”: {number(result.value)}
      {result.wall_ms !== undefined && ` in ${number(result.wall_ms / 1000, 2)} s`}.{" "}
      {result.reason && `Reason: ${result.reason}`}
    </Notice>
  );
}

type Acts = {
  onTry: (judge: Judge) => void;
  onEdit: (judge: Judge) => void;
  onDelete: (judge: Judge) => void;
};

function columns({ onTry, onEdit, onDelete }: Acts, readOnly: boolean, ownersOnly: boolean): Column<Judge>[] {
  const act = (judge: Judge, word: string, label: string, onClick: () => void) => (
    <Button variant="default" size="compact-sm" aria-label={`${label} ${judge.name}`} onClick={onClick}>
      {word}
    </Button>
  );
  const list: Column<Judge>[] = [
    {
      head: "Name",
      grow: true,
      cell: (one) => (
        <>
          {one.name} <span className={styles.none}>{one.model}</span>
        </>
      ),
    },
    { head: "Base URL", hide: "narrow", cell: (one) => one.base_url.replace(/^https?:\/\//, "") },
    { head: "Key", hide: "narrow", cell: (one) => (one.has_key ? "stored" : "none") },
  ];
  if (readOnly) return list;
  list.push({
    head: "Actions",
    align: "right",
    cell: (one) => (
      <span className={styles.rowActions}>
        {act(one, "Try", "Try", () => onTry(one))}
        {!ownersOnly && act(one, "Change…", "Change", () => onEdit(one))}
        {!ownersOnly && act(one, "Delete…", "Delete", () => onDelete(one))}
      </span>
    ),
  });
  return list;
}

/** The project's judges: servers that score completions for graders. Owners manage them, members may try them. */
export function Judges() {
  const { refusal, ownersOnly } = useAccess();
  const judges = useQuery(judgesQuery);
  const tried = useTryJudge();
  const [adding, { open, close }] = useDisclosure(false);
  const [editing, setEditing] = useState<Judge>();
  const [deleting, setDeleting] = useState<Judge>();
  const rows = judges.data?.data;
  const add = (
    <GatedButton refusal={ownersOnly} variant="default" onClick={open}>
      New judge
    </GatedButton>
  );
  const acts: Acts = {
    onTry: (judge) => tried.mutate(judge.name),
    onEdit: setEditing,
    onDelete: setDeleting,
  };
  return (
    <>
      {judges.isError && !rows ? (
        <Failure title="Could not load judges" error={judges.error} retry={() => void judges.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No judges yet" picture="key" action={add}>
          Model graders (score_model, label_model, ranking_judge) use a judge: any OpenAI-compatible server.
        </Empty>
      ) : (
        <>
          <DataTable
            label="Judges"
            columns={columns(acts, refusal !== null, ownersOnly !== null)}
            rows={rows}
            rowKey={(one) => one.id}
            expected={1}
          />
          {tried.variables && <Tried name={tried.variables} tried={tried} />}
          <div className={styles.bar}>{add}</div>
        </>
      )}
      {adding && <JudgeForm onClose={close} />}
      {editing && <JudgeForm judge={editing} onClose={() => setEditing(undefined)} />}
      {deleting && <Delete of={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  );
}
