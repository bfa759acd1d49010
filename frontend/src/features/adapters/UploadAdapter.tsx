import { Button, FileInput, Group, Modal, NativeSelect, Progress, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type Adapter, useUploadAdapter } from "@/api/adapters";
import { ApiError } from "@/api/client";
import { modelsQuery } from "@/api/models";
import { Failure } from "@/components/Failure";
import { bytes } from "@/lib/format";
import { useSingleFlight } from "@/lib/single-flight";

type Props = { onClose: () => void; onDone: (adapter: Adapter) => void };

const endingIn = (files: readonly File[], end: string) => files.filter(({ name }) => name.endsWith(end));

/** Uploads the two files of a PEFT adapter. */
export function UploadAdapter({ onClose, onDone }: Props) {
  const models = useQuery(modelsQuery).data?.data.filter(({ status }) => status === "ready") ?? [];
  const [files, setFiles] = useState<File[]>([]);
  const [chosen, setChosen] = useState<string>();
  const [name, setName] = useState("");
  const { upload, progress } = useUploadAdapter();
  const once = useSingleFlight();
  const [weights, ...more] = endingIn(files, ".safetensors");
  const [config] = endingIn(files, ".json");
  const model = chosen ?? models[0]?.id;
  const complete = weights && config && more.length === 0 && files.length === 2;
  const missing = files.length > 0 && !complete;
  const sent = progress && progress.sent >= progress.total;
  const error = upload.error;
  const field = error instanceof ApiError ? error.param : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!complete || !model) return;
    void once(() =>
      upload.mutateAsync({ weights, config, model, name: name.trim() }).then(
        (adapter) => onDone(adapter),
        () => undefined,
      ),
    );
  };
  return (
    <Modal opened onClose={onClose} title="Upload an adapter">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <FileInput
            label="Files of the adapter"
            description="Choose adapter_model.safetensors and adapter_config.json together, as PEFT's save_pretrained wrote them."
            placeholder="Choose two files"
            required
            multiple
            data-autofocus
            accept=".safetensors,.json"
            disabled={upload.isPending}
            value={files}
            onChange={setFiles}
            error={missing ? "Choose one .safetensors and one .json file." : undefined}
          />
          <NativeSelect
            label="Base model"
            description="A worker checks that the adapter fits it."
            data={models.map(({ id }) => id)}
            disabled={upload.isPending}
            value={model ?? ""}
            error={field === "model" && error?.message}
            onChange={(event) => setChosen(event.currentTarget.value)}
          />
          <TextInput
            label="Name"
            placeholder="Uploaded adapter"
            disabled={upload.isPending}
            value={name}
            error={field === "name" && error?.message}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {upload.isPending && (
            <div>
              <Progress
                value={progress ? (100 * progress.sent) / Math.max(1, progress.total) : 0}
                animated={sent === true}
                size="sm"
                aria-label="Upload of the adapter"
              />
              <span role="status">
                {sent
                  ? "A worker checks the adapter."
                  : `${bytes(progress?.sent ?? 0)} of ${bytes(weights?.size)} sent`}
              </span>
            </div>
          )}
          {error && field !== "model" && field !== "name" && (
            <Failure title="Could not upload the adapter" error={error} />
          )}
          <Group justify="flex-end" gap={8}>
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={upload.isPending} disabled={!complete || !model}>
              Upload
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
