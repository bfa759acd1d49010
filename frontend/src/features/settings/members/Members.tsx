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
import styles from "../Settings.module.css";
import { ShownOnce } from "../ShownOnce";
import { type Acts, memberColumns } from "./member-columns";
import { RemoveMember } from "./RemoveMember";

function Link({ of }: { of: Invitation }) {
  return (
    <>
      <p>
        Give this link to {of.name}. It signs in once, within 24 hours; it is not shown again. You can make a
        new one here at any time.
      </p>
      <CopyField label="One-time sign-in link" text={of.url} copy="Copy the link" />
    </>
  );
}

function Invite({ onClose }: { onClose: () => void }) {
  const invite = useInvite();
  return (
    <NewEntry
      title={invite.data ? `${invite.data.name} may sign in` : "Add a person"}
      nameLabel="Name"
      nameHint="Shown beside the jobs they start."
      placeholder="Ada Lovelace"
      action="Make the link"
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
          onSuccess: () => toastDone(`${name} now has the role ${role}.`),
          onError: (error) => toastFailed("The role was not changed", error),
        },
      ),
    onLink: ({ id }) => newLink.mutate(id, { onError: (error) => toastFailed("No link was made", error) }),
    onPassword: ({ id }) =>
      passwordLink.mutate(id, { onError: (error) => toastFailed("No link was made", error) }),
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
        <Failure
          title="Members could not be loaded"
          error={members.error}
          retry={() => void members.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty title="No members yet" picture="people" action={invite}>
          Whoever has an API key can sign in with it. Members have a name and a role of their own instead.
        </Empty>
      ) : (
        <>
          <DataTable
            label="People who may sign in"
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
        <ShownOnce title={`New link for ${newLink.data.name}`} onClose={newLink.reset}>
          <Link of={newLink.data} />
        </ShownOnce>
      )}
      {passwordLink.data && (
        <ShownOnce title={`A password for ${passwordLink.data.name}`} onClose={passwordLink.reset}>
          <p>
            Give this address to {passwordLink.data.name}. Within 24 hours it sets a password once, and signs
            out their other browsers. The password of today works until then.
          </p>
          <CopyField label="One-time password link" text={passwordLink.data.url} copy="Copy the link" />
        </ShownOnce>
      )}
    </>
  );
}
