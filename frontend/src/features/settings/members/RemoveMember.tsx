import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ApiKey, keysQuery, useTransferKey } from "@/api/keys";
import { type Member, useRemoveMember } from "@/api/members";
import { Confirm } from "@/components/Confirm";
import { Failure } from "@/components/Failure";
import { ago } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";

/** A key that ends with the member, and the way to keep it. */
function EndingKey({ of }: { of: ApiKey }) {
  const transfer = useTransferKey();
  const done = () => toastDone(`${of.name} is now yours and stays valid.`);
  return (
    <li>
      {of.name} <code>{of.prefix}…</code>{" "}
      <span className={styles.none}>
        ({of.last_used_at ? `last used ${ago(of.last_used_at)}` : "never used"})
      </span>{" "}
      <Button
        variant="subtle"
        size="compact-sm"
        loading={transfer.isPending}
        aria-label={`Take over ${of.name}`}
        onClick={() => transfer.mutate(of.id, { onSuccess: done })}
      >
        Take over
      </Button>
      {transfer.error && <Failure title="Could not take over the key" error={transfer.error} />}
    </li>
  );
}

function EndingKeys({ of }: { of: Member }) {
  const keys = useQuery(keysQuery);
  if (keys.isError)
    return (
      <Failure title="Could not load their API keys" error={keys.error} retry={() => void keys.refetch()} />
    );
  if (!keys.data) return <p>Loading their API keys…</p>;
  const ending = keys.data.data.filter((key) => key.maker === of.user);
  if (ending.length === 0) return <p>They have no active API keys.</p>;
  return (
    <>
      <p>Their API keys are revoked, too:</p>
      <ul>
        {ending.map((key) => (
          <EndingKey key={key.id} of={key} />
        ))}
      </ul>
      <p>
        A key that you take over stays valid with your role. Its secret does not change: anyone who has it can
        still use it.
      </p>
    </>
  );
}

export function RemoveMember({ of, onClose }: { of: Member; onClose: () => void }) {
  const remove = useRemoveMember();
  const done = () => {
    toastDone(`${of.name} is no longer a member.`);
    onClose();
  };
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Remove ${of.name}?`}
      action="Remove member"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(of.id, { onSuccess: done })}
    >
      <p>Their sessions end immediately and their links stop working.</p>
      <EndingKeys of={of} />
      <p>Their jobs, datasets and rewards are kept.</p>
    </Confirm>
  );
}
