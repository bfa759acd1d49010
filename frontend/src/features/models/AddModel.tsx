import { Button, Group, Modal, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAddModel } from "@/api/models";
import { Failure } from "@/components/Failure";
import { idFrom } from "@/lib/model-id";
import styles from "./Models.module.css";

type Template = "" | "plain" | "bare";

const TEMPLATES = [
  { value: "", label: "From the model" },
  { value: "plain", label: "Plain: role names and texts" },
  { value: "bare", label: "None: message texts only" },
];

type Props = {
  /** `template`: it has none of its own, so one has to be chosen. */
  start: { id?: string; source?: string; template?: boolean };
  onClose: () => void;
  onAdded: (id: string) => void;
};

/** Adds a base model by folder or hub id. The list shows progress, the model's dialog the result. */
export function AddModel({ start, onClose, onAdded }: Props) {
  const [source, setSource] = useState(start.source ?? "");
  const [id, setId] = useState(start.id);
  const [token, setToken] = useState("");
  const [template, setTemplate] = useState<Template>(start.template ? "plain" : "");
  const add = useAddModel(false);
  const name = id ?? idFrom(source);
  const param = add.error && "param" in add.error ? add.error.param : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = {
      id: name.trim(),
      source: source.trim(),
      token: token.trim() || null,
      chat_template: template || null,
    };
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
          description="A folder on the worker or hub:org/name@revision. Only safetensors are read; repository code is never executed."
          required
          data-autofocus
          placeholder="/models/Qwen3-0.6B"
          disabled={add.isPending}
          value={source}
          error={param === "source" && add.error?.message}
          onChange={(event) => setSource(event.currentTarget.value)}
        />
        <TextInput
          label="ID"
          description="Name used in jobs: letters, digits, dots and dashes."
          required
          disabled={add.isPending}
          value={name}
          error={param === "id" && add.error?.message}
          onChange={(event) => setId(event.currentTarget.value)}
        />
        {source.startsWith("hub:") && (
          <PasswordInput
            label="Token"
            description="Only for private or gated models. Stored encrypted and sent only to workers that need the model."
            placeholder="hf_…"
            autoComplete="off"
            disabled={add.isPending}
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
        )}
        <NativeSelect
          label="Chat template"
          description="Choose one if the model has no chat template."
          data={TEMPLATES}
          disabled={add.isPending}
          value={template}
          onChange={(event) => setTemplate(event.currentTarget.value as Template)}
        />
        {add.error && param !== "id" && param !== "source" && (
          <Failure title="Could not add the model" error={add.error} />
        )}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={add.isPending} disabled={!name.trim() || !source.trim()}>
            Inspect and add
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
