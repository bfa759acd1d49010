import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type BaseModel, modelsQuery, ownerOf } from "@/api/models";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Page } from "@/components/Page";
import { StatePill } from "@/components/StatePill";
import { ago, bytes, NOTHING, number, parameters } from "@/lib/format";
import { AddModel } from "./AddModel";
import styles from "./Models.module.css";

const COLUMNS: Column<BaseModel>[] = [
  {
    head: "Model",
    cut: true,
    cell: (one) => (
      <Link to="/models/$id" params={{ id: one.id }} data-row title={one.id}>
        {one.id}
      </Link>
    ),
  },
  {
    head: "Status",
    cell: (one) => (
      <>
        <StatePill state={one.status} />
        {one.progress?.total ? ` ${Math.floor((100 * (one.progress.done ?? 0)) / one.progress.total)}%` : ""}
      </>
    ),
  },
  {
    head: "Source",
    hide: "medium",
    grow: true,
    cell: (one) =>
      one.error ? (
        <span className={styles.bad} title={one.error}>
          {one.error}
        </span>
      ) : (
        <span className={styles.faint} title={one.source}>
          {one.source}
        </span>
      ),
  },
  { head: "Scope", hide: "medium", cell: ownerOf },
  { head: "Parameters", align: "right", cell: (one) => parameters(one.parameters) },
  {
    head: "Context",
    hide: "narrow",
    align: "right",
    cell: (one) => (one.context_length ? `${number(one.context_length, 6)} tokens` : NOTHING),
  },
  {
    head: "Chat template",
    hide: "medium",
    cell: (one) => (one.status === "failed" ? NOTHING : one.has_chat_template ? "yes" : "none"),
  },
  { head: "Size", hide: "narrow", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "License", hide: "narrow", cell: (one) => one.licence ?? NOTHING },
  { head: "Added", hide: "medium", align: "right", cell: (one) => ago(one.created_at) },
];

/** Base models of the project and those that all projects share. */
export function ModelList({ onAdded }: { onAdded: (id: string) => void }) {
  const { refusal } = useAccess();
  const models = useQuery(modelsQuery);
  const [adding, setAdding] = useState(false);
  const rows = models.data?.data;
  const add = (
    <GatedButton refusal={refusal} onClick={() => setAdding(true)}>
      Add a model
    </GatedButton>
  );
  return (
    <Page title="Models" actions={(rows ? rows.length > 0 : models.isError) && add}>
      {models.isError && !rows ? (
        <Failure title="Could not load models" error={models.error} retry={() => void models.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No models yet" picture="model" action={add}>
          A base model is a folder of safetensors files or a hub revision. A worker inspects it once, and jobs
          pin its hash.
        </Empty>
      ) : (
        <DataTable label="Models" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} expected={3} keys />
      )}
      {adding && <AddModel start={{}} onClose={() => setAdding(false)} onAdded={onAdded} />}
    </Page>
  );
}
