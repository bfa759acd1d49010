import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import {
  type Invitation,
  type Member,
  membersQuery,
  useChangeRole,
  useInvite,
  useNewLink,
  usePasswordLink,
} from "@/api/members";
import { CopyField } from "@/components/CopyField";
import { DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { toastDone, toastFailed } from "@/lib/toast";
import { NewEntry } from "../NewEntry";
import { SecretDialog } from "../SecretDialog";
import styles from "../Settings.module.css";
import { type Acts, memberColumns } from "./member-columns";
import { RemoveMember } from "./RemoveMember";

function Link({ of }: { of: Invitation }) {
  return (
    <>
      <p>
        Give this link to {of.name}. It works once within 24 hours and is not shown again. You can create a
        new link at any time.
      </p>
      <CopyField label="One-time sign-in link" text={of.url} copy="Copy link" />
    </>
  );
}

function Invite({ onClose }: { onClose: () => void }) {
  const invite = useInvite();
  return (
    <NewEntry
      title={invite.data ? `${invite.data.name} can now sign in` : "Add a person"}
      nameLabel="Name"
      nameHint="Shown with the jobs they start."
      placeholder="Ada Lovelace"
      action="Create link"
      busy={invite.isPending}
      error={invite.error}
      onSubmit={(entry) => invite.mutateAsync(entry)}
      onClose={onClose}
      made={invite.data && <Link of={invite.data} />}
    />
  );
}

export function Members() {
  const { ownersOnly } = useAccess();
  const members = useQuery(membersQuery);
  const changeRole = useChangeRole();
  const newLink = useNewLink();
  const passwordLink = usePasswordLink();
  const [inviting, { open, close }] = useDisclosure(false);
  const [removing, setRemoving] = useState<Member>();
  const rows = members.data?.data;

  const acts: Acts = {
    onRole: ({ id, etag, name }, role) =>
      changeRole.mutate(
        { id, etag, role },
        {
          onSuccess: () => toastDone(`${name} has the role ${role}.`),
          onError: (error) => toastFailed("Could not change the role", error),
        },
      ),
    onLink: ({ id }) =>
      newLink.mutate(id, { onError: (error) => toastFailed("Could not create the link", error) }),
    onPassword: ({ id }) =>
      passwordLink.mutate(id, { onError: (error) => toastFailed("Could not create the link", error) }),
    onRemove: setRemoving,
  };
  const invite = (
    <GatedButton refusal={ownersOnly} variant="default" onClick={open}>
      Add a person
    </GatedButton>
  );

  return (
    <>
      {members.isError && !rows ? (
        <Failure title="Could not load members" error={members.error} retry={() => void members.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No members yet" picture="people" action={invite}>
          Anyone with an API key can sign in with it. Members have their own name and role.
        </Empty>
      ) : (
        <>
          <DataTable
            label="Members"
            columns={memberColumns(ownersOnly ? null : acts)}
            rows={rows}
            rowKey={(one) => one.id}
            expected={2}
          />
          <div className={styles.bar}>{invite}</div>
        </>
      )}
      {inviting && <Invite onClose={close} />}
      {removing && <RemoveMember of={removing} onClose={() => setRemoving(undefined)} />}
      {newLink.data && (
        <SecretDialog title={`New link for ${newLink.data.name}`} onClose={newLink.reset}>
          <Link of={newLink.data} />
        </SecretDialog>
      )}
      {passwordLink.data && (
        <SecretDialog title={`A password for ${passwordLink.data.name}`} onClose={passwordLink.reset}>
          <p>
            Send this link to {passwordLink.data.name}. It sets a password once within 24 hours and signs out
            their other browsers. The current password works until then.
          </p>
          <CopyField label="One-time password link" text={passwordLink.data.url} copy="Copy link" />
        </SecretDialog>
      )}
    </>
  );
}
