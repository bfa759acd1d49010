import { Button, Group, Modal } from "@mantine/core";
import type { ReactNode } from "react";
import styles from "./Settings.module.css";

type Props = { title: string; onClose: () => void; children: ReactNode };

/** Something that is shown this once; a stray click beside it does not close it. */
export function SecretDialog({ title, onClose, children }: Props) {
  return (
    <Modal opened onClose={onClose} title={title} closeOnClickOutside={false}>
      <div className={styles.form}>
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </div>
    </Modal>
  );
}
