import { Button, Group, Modal } from "@mantine/core";
import type { ReactNode } from "react";
import styles from "./Confirm.module.css";
import { Failure } from "./Failure";

type Props = {
  opened: boolean;
  onClose: () => void;
  /** A question: "Revoke this key?" */
  title: string;
  /** What is lost, and what stays. */
  children: ReactNode;
  /** The act in the words of the title: "Revoke the key". */
  action: string;
  onConfirm: () => void;
  /** The safe answer, where "Cancel" could mean the act itself. */
  keep?: string;
  busy?: boolean;
  error?: Error | null;
};

/** Asks before something is lost. The safe answer has the focus. */
export function Confirm({
  opened,
  onClose,
  title,
  children,
  action,
  keep = "Cancel",
  onConfirm,
  busy,
  error,
}: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <div className={styles.text}>{children}</div>
      {error && <Failure title="Could not complete the action" error={error} />}
      <Group justify="flex-end" mt="md" gap={8}>
        <Button variant="default" onClick={onClose} data-autofocus>
          {keep}
        </Button>
        <Button color="red" variant="light" loading={busy} onClick={onConfirm}>
          {action}
        </Button>
      </Group>
    </Modal>
  );
}
