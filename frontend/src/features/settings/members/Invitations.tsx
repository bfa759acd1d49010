import { Button, Group, Modal, NativeSelect, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAccess } from "@/api/access";
import {
  invitationsQuery,
  type OpenInvitation,
  useCreateInvitation,
  useRenewInvitation,
  useWithdrawInvitation,
} from "@/api/invitations";
import type { Role } from "@/api/keys";
import { CopyField } from "@/components/CopyField";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { ago } from "@/lib/format";
import { useSingleFlight } from "@/lib/single-flight";
import { toastDone, toastFailed } from "@/lib/toast";
import { endWords } from "../keys/key-draft";
import { SecretDialog } from "../SecretDialog";
import styles from "../Settings.module.css";
import { RoleSelect } from "./RoleSelect";

const DAYS = [1, 7, 30, 90];

function Address({ url, onClose }: { url: string; onClose: () => void }) {
  return (
    <SecretDialog title="The invitation" onClose={onClose}>
      <p>
        The first person who opens this link joins the project. It is not shown again: the server stores only
        its hash.
      </p>
      <CopyField label="Invitation link" text={url} copy="Copy link" />
    </SecretDialog>
  );
}

function NewInvitation({ onClose }: { onClose: () => void }) {
  const [note, setNote] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const [days, setDays] = useState(7);
  const create = useCreateInvitation();
  const once = useSingleFlight();
  if (create.data) return <Address url={create.data.url} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { role, note: note.trim() || null, expires_in_days: days };
    void once(() => create.mutateAsync(body).catch(() => undefined));
  };
  return (
    <Modal opened onClose={onClose} title="New invitation">
      <form className={styles.form} onSubmit={submit}>
        <TextInput
          label="Recipient"
          description="Shown only in this list."
          placeholder="Ada, evaluation team"
          maxLength={200}
          data-autofocus
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <RoleSelect label="Role" value={role} onChange={setRole} />
        <NativeSelect
          label="Expires after"
          value={String(days)}
          data={DAYS.map((one) => ({ value: String(one), label: one === 1 ? "a day" : `${one} days` }))}
          onChange={(event) => setDays(Number(event.currentTarget.value))}
        />
        {create.error && <Failure title="Could not create the invitation" error={create.error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create invitation
          </Button>
        </Group>
      </form>
    </Modal>
  );
}

const named = (one: OpenInvitation) => one.note ?? `the one of ${ago(one.created_at)}`;

function columns(
  onRenew: (one: OpenInvitation) => void,
  onWithdraw: (one: OpenInvitation) => void,
): Column<OpenInvitation>[] {
  return [
    {
      head: "Recipient",
      grow: true,
      cell: (one) => one.note ?? <span className={styles.none}>not named</span>,
    },
    { head: "Role", cell: (one) => one.role },
    { head: "Created by", hide: "narrow", cut: true, cell: (one) => one.created_by },
    {
      head: "Expires",
      align: "right",
      cell: (one) => <span title={one.expires_at}>{endWords(one.expires_at)}</span>,
    },
    {
      head: "Actions",
      align: "right",
      cell: (one) => (
        <span className={styles.rowActions}>
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`New link for ${named(one)}`}
            onClick={() => onRenew(one)}
          >
            New link
          </Button>
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Revoke ${named(one)}`}
            onClick={() => onWithdraw(one)}
          >
            Revoke
          </Button>
        </span>
      ),
    },
  ];
}

/** Addresses with which people may still join, and expired ones until they are withdrawn. */
export function Invitations() {
  const { ownersOnly } = useAccess();
  const invitations = useQuery({ ...invitationsQuery, enabled: ownersOnly === null });
  const renew = useRenewInvitation();
  const withdraw = useWithdrawInvitation();
  const [making, { open, close }] = useDisclosure(false);
  const rows = invitations.data?.data;
  if (ownersOnly)
    return (
      <Notice tone="info" title="Invitations">
        {ownersOnly}
      </Notice>
    );
  const onWithdraw = (one: OpenInvitation) =>
    withdraw.mutate(one.id, {
      onSuccess: () => toastDone("Invitation revoked: its link no longer works."),
      onError: (error) => toastFailed("Could not revoke the invitation", error),
    });
  const onRenew = (one: OpenInvitation) =>
    renew.mutate(one, { onError: (error) => toastFailed("Could not create a new link", error) });
  return (
    <>
      {invitations.isError && !rows ? (
        <Failure
          title="Could not load invitations"
          error={invitations.error}
          retry={() => void invitations.refetch()}
        />
      ) : rows?.length === 0 ? (
        <p className={styles.none}>No open invitations.</p>
      ) : (
        <DataTable
          label="Open invitations"
          columns={columns(onRenew, onWithdraw)}
          rows={rows}
          rowKey={(one) => one.id}
          expected={1}
        />
      )}
      <div className={styles.bar}>
        <Button variant="default" onClick={open}>
          New invitation
        </Button>
      </div>
      {making && <NewInvitation onClose={close} />}
      {renew.data && <Address url={renew.data.url} onClose={renew.reset} />}
    </>
  );
}
