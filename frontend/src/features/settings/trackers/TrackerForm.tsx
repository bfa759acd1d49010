import { Button, Checkbox, Group, Modal, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { ApiError } from "@/api/client";
import { type Tracker, useChangeTracker, useCreateTracker } from "@/api/trackers";
import { Failure } from "@/components/Failure";
import { useSingleFlight } from "@/lib/single-flight";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { draftOf, isComplete, type TrackerDraft, toChange, toTracker } from "./tracker-draft";

const KINDS = [
  { value: "wandb", label: "Weights & Biases" },
  { value: "mlflow", label: "MLflow" },
];

const FIELDS = ["kind", "name", "url", "destination", "entity", "username", "api_key"];

type Props = { tracker?: Tracker; onClose: () => void };

/** A new tracker, or one that is changed. A key is only ever written. */
export function TrackerForm({ tracker, onClose }: Props) {
  const [draft, setDraft] = useState(() => draftOf(tracker));
  const create = useCreateTracker();
  const change = useChangeTracker();
  const once = useSingleFlight();
  const error = tracker ? change.error : create.error;
  const fault = (param: string) =>
    error instanceof ApiError && error.param === param ? `${error.message} ${error.hint ?? ""}` : null;
  const isAtField = FIELDS.some((param) => fault(param));
  const set = (part: Partial<TrackerDraft>) => setDraft((old) => ({ ...old, ...part }));
  const isWandb = draft.kind === "wandb";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const done = () => {
      toastDone(tracker ? `${tracker.name} changed.` : `${draft.name.trim()} added.`);
      onClose();
    };
    void once(() =>
      (tracker
        ? change.mutateAsync({ id: tracker.id, etag: tracker.etag, ...toChange(draft) })
        : create.mutateAsync(toTracker(draft))
      ).then(done, () => undefined),
    );
  };
  const field = (
    name: "name" | "url" | "destination" | "entity" | "username",
    label: string,
    about: string,
    required = false,
  ) => (
    <TextInput
      label={label}
      description={about}
      required={required}
      autoComplete="off"
      spellCheck={false}
      value={draft[name]}
      error={fault(name)}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <Modal opened onClose={onClose} title={tracker ? `Change ${tracker.name}` : "New tracker"} size={520}>
      <form className={styles.form} onSubmit={submit} noValidate>
        {!tracker && (
          <>
            <NativeSelect
              label="Kind"
              data={KINDS}
              value={draft.kind}
              error={fault("kind")}
              data-autofocus
              onChange={(event) => set({ kind: event.currentTarget.value as Tracker["kind"] })}
            />
            {field("name", "Name", "Letters, digits, _ . and -.", true)}
          </>
        )}
        {isWandb
          ? field("url", "Server", "Address of your own server. Leave empty for https://api.wandb.ai.")
          : field("url", "Tracking URI", "Address of the tracking server.", true)}
        {isWandb
          ? field("destination", "Project", "Created if it does not exist.", true)
          : field("destination", "Experiment", "Created if it does not exist.", true)}
        {isWandb
          ? field("entity", "Entity", "User or team. Leave empty for that of the key.")
          : field(
              "username",
              "User",
              "For basic authentication. Leave empty to send the key as a bearer token.",
            )}
        <PasswordInput
          label={isWandb ? "API key" : "Password or token"}
          description={
            tracker?.has_key
              ? "A key is stored. Leave empty to keep it. If you change the address, type the key again."
              : "Stored encrypted, never shown."
          }
          placeholder={tracker?.has_key ? "unchanged" : "none"}
          autoComplete="new-password"
          maxLength={4096}
          value={draft.key}
          error={fault("api_key")}
          onChange={(event) => set({ key: event.currentTarget.value })}
        />
        <Checkbox
          label="Export every new job of the project"
          checked={draft.everyJob}
          onChange={(event) => set({ everyJob: event.currentTarget.checked })}
        />
        {error && !isAtField && <Failure title="Could not save the tracker" error={error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending || change.isPending} disabled={!isComplete(draft)}>
            {tracker ? "Save" : "Add tracker"}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
