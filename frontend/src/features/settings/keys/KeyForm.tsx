import { Button, Checkbox, Group, Modal, Radio, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { type Role, type Scope, useCreateKey } from "@/api/keys";
import { CopyField } from "@/components/CopyField";
import { Failure } from "@/components/Failure";
import { useSingleFlight } from "@/lib/single-flight";
import { RoleSelect } from "../members/RoleSelect";
import { SecretDialog } from "../SecretDialog";
import styles from "../Settings.module.css";
import { dayAfter, daysUntil, MOST_DAYS, SCOPE_WORDS, SCOPES_OF } from "./key-draft";

const PERIODS = [
  [30, "30 days"],
  [90, "90 days"],
  [365, "A year"],
] as const;

type ScopesProps = {
  role: Role;
  /** Null: all that the role may. */
  value: readonly Scope[] | null;
  onChange: (value: Scope[] | null) => void;
};

function Scopes({ role, value, onChange }: ScopesProps) {
  return (
    <>
      <Radio.Group
        label="Scopes"
        value={value ? "some" : "all"}
        onChange={(one) => onChange(one === "all" ? null : ["read"])}
      >
        <Group mt={6} gap={16}>
          <Radio value="all" label="All scopes of the role" />
          <Radio value="some" label="Selected scopes" />
        </Group>
      </Radio.Group>
      {value && (
        <Checkbox.Group aria-label="Scopes" value={[...value]} onChange={(next) => onChange(next as Scope[])}>
          <div className={styles.scopes}>
            {SCOPES_OF[role].map((scope) => (
              <Checkbox key={scope} value={scope} label={scope} description={SCOPE_WORDS[scope]} />
            ))}
          </div>
        </Checkbox.Group>
      )}
    </>
  );
}

/** A new key: its name, what it may do and until when; then its secret, this once. */
export function KeyForm({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const [scopes, setScopes] = useState<Scope[] | null>(null);
  const [end, setEnd] = useState(dayAfter(90));
  const create = useCreateKey();
  const once = useSingleFlight();
  const days = daysUntil(end);
  if (create.data)
    return (
      <SecretDialog title={`The key ${create.data.name}`} onClose={onClose}>
        <p>Copy it now: it is not shown again. The server stores only its hash.</p>
        <CopyField label="API key secret" text={create.data.key} copy="Copy key" />
      </SecretDialog>
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (days === undefined) return;
    const body = { name: name.trim(), role, scopes, expires_in_days: days };
    void once(() => create.mutateAsync(body).catch(() => undefined));
  };
  const changeRole = (next: Role) => {
    setRole(next);
    setScopes((old) => old?.filter((scope) => SCOPES_OF[next].includes(scope)) ?? null);
  };
  return (
    <Modal opened onClose={onClose} title="New API key" size={520}>
      <form className={styles.form} onSubmit={submit} noValidate>
        <TextInput
          label="Name"
          description="Name the program that uses the key: it stops working when you revoke the key."
          placeholder="ci"
          required
          maxLength={100}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <RoleSelect label="Role" value={role} onChange={changeRole} />
        <Scopes role={role} value={scopes} onChange={setScopes} />
        <TextInput
          type="date"
          label="Expires"
          description="Leave empty for a key that never expires."
          min={dayAfter(1)}
          max={dayAfter(MOST_DAYS)}
          value={end}
          error={days === undefined && "A date from tomorrow to ten years from now."}
          onChange={(event) => setEnd(event.currentTarget.value)}
        />
        <Group gap={6}>
          {PERIODS.map(([length, words]) => (
            <Button key={length} variant="default" size="compact-sm" onClick={() => setEnd(dayAfter(length))}>
              {words}
            </Button>
          ))}
          <Button variant="default" size="compact-sm" onClick={() => setEnd("")}>
            Never
          </Button>
        </Group>
        {create.error && <Failure title="Could not create the key" error={create.error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={create.isPending}
            disabled={!name.trim() || days === undefined || scopes?.length === 0}
          >
            Create key
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
