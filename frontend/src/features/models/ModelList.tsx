import { Button, Group, Modal, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type BaseModel, modelsQuery, useAddModel } from "@/api/models";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { StatePill } from "@/components/StatePill";
import { ago, bytes, NOTHING, number } from "@/lib/format";

const COLUMNS: Column<BaseModel>[] = [
  { head: "Model", cell: (one) => <b style={{ fontWeight: 550 }}>{one.id}</b> },
  { head: "State", cell: (one) => <StatePill state={one.status} /> },
  {
    head: "Source",
    grow: true,
    cell: (one) => <span title={one.error ?? one.source}>{one.error ?? one.source}</span>,
  },
  { head: "Architecture", cell: (one) => one.architecture ?? NOTHING },
  { head: "Parameters", align: "right", cell: (one) => number(one.parameters) },
  {
    head: "Context",
    align: "right",
    cell: (one) => (one.context_length ? `${number(one.context_length, 6)} tokens` : NOTHING),
  },
  { head: "Chat template", cell: (one) => (one.has_chat_template ? "yes" : "none") },
  { head: "Size", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "Licence", cell: (one) => one.licence ?? NOTHING },
  { head: "Added", align: "right", cell: (one) => ago(one.created_at) },
];

function AddModel({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState("");
  const [source, setSource] = useState("");
  const add = useAddModel();
  const param = add.error && "param" in add.error ? add.error.param : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({ id: id.trim(), source: source.trim() }, { onSuccess: onClose });
  };
  return (
    <form onSubmit={submit} style={{ display: "grid", gap: 14 }}>
      <TextInput
        label="Id"
        description="How jobs name it: letters, digits, dots and dashes."
        required
        data-autofocus
        value={id}
        error={param === "id" && add.error?.message}
        onChange={(event) => setId(event.currentTarget.value)}
      />
      <TextInput
        label="Source"
        description="A folder on the worker, or hub:org/name@revision. Only safetensors are read."
        required
        placeholder="/models/Qwen3-0.6B"
        value={source}
        error={param === "source" && add.error?.message}
        onChange={(event) => setSource(event.currentTarget.value)}
      />
      {add.error && param !== "id" && param !== "source" && <Failure title="Not added" error={add.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button type="submit" loading={add.isPending} disabled={!id.trim() || !source.trim()}>
          Inspect and add
        </Button>
      </Group>
    </form>
  );
}

export function ModelList() {
  const models = useQuery(modelsQuery);
  const [adding, { open, close }] = useDisclosure(false);
  const rows = models.data?.data;
  const add = <Button onClick={open}>Add a model</Button>;
  return (
    <Page title="Models" actions={add}>
      {models.isError && !rows ? (
        <Failure
          title="Models could not be loaded"
          error={models.error}
          retry={() => void models.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty title="No models yet" action={add}>
          A base model is a folder of safetensors or a hub revision. A worker inspects it once; jobs pin its
          hash.
        </Empty>
      ) : (
        <DataTable label="Models" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} />
      )}
      <Modal opened={adding} onClose={close} title="Add a base model">
        <AddModel onClose={close} />
      </Modal>
    </Page>
  );
}
