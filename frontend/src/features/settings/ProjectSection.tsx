import { Button, Group, Modal, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { useCreateProject, useDeleteProject, useRenameProject } from "@/api/projects";
import { meQuery } from "@/api/session";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { toastDone } from "@/lib/toast";
import styles from "./Settings.module.css";

type NameProps = {
  title: string;
  text?: string;
  label: string;
  action: string;
  busy: boolean;
  error: Error | null;
  /** What has to be typed before the act is possible; anything without. */
  exactly?: string;
  danger?: boolean;
  onSubmit: (name: string) => void;
  onClose: () => void;
};

function NameDialog({
  title,
  text,
  label,
  action,
  busy,
  error,
  exactly,
  danger,
  onSubmit,
  onClose,
}: NameProps) {
  const [name, setName] = useState("");
  const ready = exactly === undefined ? name.trim() !== "" : name === exactly;
  return (
    <Modal opened onClose={onClose} title={title}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(name.trim());
        }}
      >
        {text && <p>{text}</p>}
        <TextInput
          label={label}
          maxLength={100}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {error && <Failure title="Could not save the project" error={error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            color={danger ? "red" : undefined}
            variant={danger ? "light" : "filled"}
            loading={busy}
            disabled={!ready}
          >
            {action}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}

/** Makes, renames, exports and deletes projects. */
export function ProjectSection() {
  const me = useQuery(meQuery).data;
  const { ownersOnly } = useAccess();
  const create = useCreateProject();
  const rename = useRenameProject();
  const remove = useDeleteProject();
  const [making, makes] = useDisclosure(false);
  const [renaming, renames] = useDisclosure(false);
  const [deleting, deletes] = useDisclosure(false);
  if (!me) return null;
  const { project: id, project_name: name } = me;
  const renamed = () => {
    toastDone("The project is renamed.");
    renames.close();
  };
  return (
    <>
      <Group gap={8}>
        <GatedButton refusal={ownersOnly} variant="default" onClick={makes.open}>
          New project
        </GatedButton>
        <GatedButton refusal={ownersOnly} variant="default" onClick={renames.open}>
          Rename…
        </GatedButton>
        {!ownersOnly && (
          <Button component="a" variant="default" href={`/api/v1/projects/${id}/export`} download>
            Export
          </Button>
        )}
        <GatedButton refusal={ownersOnly} variant="default" onClick={deletes.open}>
          Delete…
        </GatedButton>
      </Group>
      {making && (
        <NameDialog
          title="New project"
          text="The new project is empty and you are its owner. The page switches to it."
          label="Name"
          action="Create project"
          busy={create.isPending}
          error={create.error}
          onSubmit={(newName) => create.mutate(newName)}
          onClose={makes.close}
        />
      )}
      {renaming && (
        <NameDialog
          title={`Rename ${name}`}
          label="New name"
          action="Rename project"
          busy={rename.isPending}
          error={rename.error}
          onSubmit={(newName) => rename.mutate({ id, name: newName }, { onSuccess: renamed })}
          onClose={renames.close}
        />
      )}
      {deleting && (
        <NameDialog
          title={`Delete ${name}?`}
          text="Its datasets, rewards, jobs, adapters, keys and memberships are deleted permanently. Export it first to keep the data."
          label={`Type ${name} to delete it`}
          action="Delete project"
          exactly={name}
          danger
          busy={remove.isPending}
          error={remove.error}
          onSubmit={(newName) => remove.mutate({ id, name: newName })}
          onClose={deletes.close}
        />
      )}
    </>
  );
}
