import { Button, Group, Modal, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Role } from "@/api/keys";
import { Failure } from "@/components/Failure";
import { useSingleFlight } from "@/lib/single-flight";
import { RoleSelect } from "./members/RoleSelect";
import styles from "./Settings.module.css";

type Props = {
  title: string;
  nameLabel: string;
  nameHint: string;
  placeholder: string;
  action: string;
  busy: boolean;
  error: Error | null;
  /** Fails with what `error` tells. */
  onSubmit: (entry: { name: string; role: Role }) => Promise<unknown>;
  onClose: () => void;
  /** What is shown once after it was made, in place of the form. */
  made?: ReactNode;
};

/** A name and a role; then the secret or link that is shown this once. */
export function NewEntry(props: Props) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const once = useSingleFlight();
  const { made, onClose } = props;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void once(() => props.onSubmit({ name: name.trim(), role }).catch(() => undefined));
  };
  return (
    <Modal opened onClose={onClose} title={props.title} closeOnClickOutside={!made}>
      {made ? (
        <div className={styles.form}>
          {made}
          <Group justify="flex-end">
            <Button onClick={onClose}>Done</Button>
          </Group>
        </div>
      ) : (
        <form className={styles.form} onSubmit={submit}>
          <TextInput
            label={props.nameLabel}
            description={props.nameHint}
            placeholder={props.placeholder}
            required
            maxLength={100}
            data-autofocus
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <RoleSelect label="Role" value={role} onChange={setRole} />
          {props.error && <Failure title="Could not create it" error={props.error} />}
          <Group justify="flex-end" gap={8}>
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={props.busy} disabled={!name.trim()}>
              {props.action}
            </Button>
          </Group>
        </form>
      )}
    </Modal>
  );
}
