import { Button, TextInput } from "@mantine/core";
import { useRef, useState } from "react";
import { useAccess } from "@/api/access";
import { type JobDetail, useUpdateJob } from "@/api/jobs";
import { toastFailed } from "@/lib/toast";
import styles from "./Labels.module.css";

const LONGEST = 200;

/** Renames a job in place: Enter saves, Escape leaves it. */
export function RenameJob({ job }: { job: JobDetail }) {
  const { refusal } = useAccess();
  const [text, setText] = useState<string | undefined>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  const update = useUpdateJob(job.id);
  if (refusal) return null;
  const close = () => {
    setText(undefined);
    requestAnimationFrame(() => button.current?.focus());
  };
  const save = () => {
    const name = text?.trim();
    if (!name) return;
    if (name !== job.name) {
      update.mutate(
        { etag: job.etag, name },
        { onError: (error) => toastFailed("Could not rename the job", error) },
      );
    }
    close();
  };
  if (text === undefined) {
    return (
      <Button ref={button} size="compact-xs" variant="subtle" onClick={() => setText(job.name)}>
        Rename
      </Button>
    );
  }
  return (
    <form
      className={styles.rename}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextInput
        aria-label="Name"
        className={styles.name}
        autoFocus
        maxLength={LONGEST}
        value={text}
        error={text.trim() === "" && "Enter a name."}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && close()}
      />
      <Button type="submit" disabled={text.trim() === ""}>
        Save
      </Button>
      <Button variant="default" onClick={close}>
        Cancel
      </Button>
    </form>
  );
}
