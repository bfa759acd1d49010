import { Button, Group, Modal, TextInput } from "@mantine/core";
import { type FormEvent, useEffect, useState } from "react";
import { useAddModel } from "@/api/models";
import { Failure } from "@/components/Failure";
import { duration } from "@/lib/format";
import { idFrom } from "@/lib/model-id";
import styles from "./Models.module.css";

/** Seconds since `running` became true. */
function useElapsed(running: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    setSeconds(0);
    if (!running) return;
    const from = Date.now();
    const timer = setInterval(() => setSeconds(Math.round((Date.now() - from) / 1000)), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  return seconds;
}

function Waiting({ source, seconds }: { source: string; seconds: number }) {
  const hub = source.startsWith("hub:");
  return (
    <div className={styles.waiting}>
      <progress aria-label="Inspection runs" />
      <p>
        <span role="status">
          {hub ? "A worker downloads and inspects the model." : "A worker reads and inspects the model."}
        </span>{" "}
        {duration(seconds)} so far; {hub ? "a few GB take minutes." : "a large folder takes a minute."}
      </p>
      <p className={styles.faint}>
        You can close this: the inspection goes on, and the model appears in the list.
      </p>
    </div>
  );
}

type Props = {
  start: { id?: string; source?: string };
  onClose: () => void;
  onAdded: (id: string) => void;
};

/** Adds a base model by folder or hub id; what inspection found is shown when it is through. */
export function AddModel({ start, onClose, onAdded }: Props) {
  const [source, setSource] = useState(start.source ?? "");
  const [id, setId] = useState(start.id);
  const add = useAddModel();
  const seconds = useElapsed(add.isPending);
  const name = id ?? idFrom(source);
  const param = add.error && "param" in add.error ? add.error.param : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { id: name.trim(), source: source.trim() };
    add.mutate(body, {
      onSuccess: () => {
        onClose();
        onAdded(body.id);
      },
    });
  };
  return (
    <Modal opened onClose={onClose} title="Add a base model">
      <form className={styles.form} onSubmit={submit}>
        <TextInput
          label="Source"
          description="A folder on the worker, or hub:org/name@revision. Only safetensors are read; code in the repository is never run."
          required
          data-autofocus
          placeholder="/models/Qwen3-0.6B"
          disabled={add.isPending}
          value={source}
          error={param === "source" && add.error?.message}
          onChange={(event) => setSource(event.currentTarget.value)}
        />
        <TextInput
          label="Id"
          description="How jobs name it: letters, digits, dots and dashes."
          required
          disabled={add.isPending}
          value={name}
          error={param === "id" && add.error?.message}
          onChange={(event) => setId(event.currentTarget.value)}
        />
        {add.isPending && <Waiting source={source.trim()} seconds={seconds} />}
        {add.error && param !== "id" && param !== "source" && <Failure title="Not added" error={add.error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            {add.isPending ? "Close" : "Cancel"}
          </Button>
          <Button type="submit" loading={add.isPending} disabled={!name.trim() || !source.trim()}>
            Inspect and add
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
