import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { ApiError } from "@/api/client";
import { type BaseModel, useAddModel } from "@/api/models";
import { Failure } from "@/components/Failure";
import { idFrom } from "@/lib/model-id";
import styles from "../NewJob.module.css";

type Props = { onAdded: (model: BaseModel) => void; onCancel: () => void };

/** Adds a base model without leaving the form: a folder on the worker, or a revision on the hub. */
export function AddModel({ onAdded, onCancel }: Props) {
  const [source, setSource] = useState("");
  const [typed, setTyped] = useState<string | null>(null);
  const add = useAddModel();
  const id = typed ?? idFrom(source);
  const param = add.error instanceof ApiError ? add.error.param : null;
  const submit = () => add.mutate({ id: id.trim(), source: source.trim() }, { onSuccess: onAdded });
  return (
    // Not a form element: forms cannot be nested.
    <fieldset className={styles.inset} disabled={add.isPending}>
      <legend className="visually-hidden">Add a base model</legend>
      <div className={styles.two}>
        <TextInput
          label="Folder or hub ID"
          description="A folder on the worker or hub:org/name@revision. Only safetensors are read."
          placeholder="/models/Qwen3-0.6B"
          data-autofocus
          autoFocus
          value={source}
          error={param === "source" && add.error?.message}
          onChange={(event) => setSource(event.currentTarget.value)}
        />
        <TextInput
          label="ID"
          description="Name used in jobs: letters, digits, dots and dashes."
          value={id}
          error={param === "id" && add.error?.message}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </div>
      {add.error && param !== "id" && param !== "source" && (
        <Failure title="Could not add the model" error={add.error} />
      )}
      <div className={styles.buttons}>
        <Button loading={add.isPending} disabled={!id.trim() || !source.trim()} onClick={submit}>
          Inspect and add
        </Button>
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <span role="status">
          {add.isPending &&
            "A worker reads the files and checks the architecture. A download from the hub can take minutes."}
        </span>
      </div>
    </fieldset>
  );
}
