import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type BaseModel, isLookedAt, modelQuery, ownerOf } from "@/api/models";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { Page, Tag } from "@/components/Page";
import { SkeletonCard } from "@/components/Skeleton";
import { StatePill } from "@/components/StatePill";
import { ago, parameters } from "@/lib/format";
import { AddModel } from "./AddModel";
import { InspectionProgress } from "./InspectionProgress";
import { ModelActions } from "./ModelActions";
import { ModelFacts } from "./ModelFacts";
import styles from "./Models.module.css";
import { ModelUses } from "./ModelUses";

const CRUMBS = [
  <Link key="models" to="/models">
    Models
  </Link>,
];

function FailureNotice({ model }: { model: BaseModel }) {
  const { refusal, administrator } = useAccess();
  const [adding, setAdding] = useState(false);
  const mayChange = !refusal && (!model.shared || administrator);
  const start = {
    id: model.id,
    source: model.source,
    template: model.failure?.code === "no_chat_template",
  };
  return (
    <>
      <Notice
        tone="bad"
        title={
          model.status === "failed" ? "Model not usable" : "Last inspection failed; showing earlier results"
        }
        action={
          mayChange && (
            <Button variant="default" onClick={() => setAdding(true)}>
              Inspect again…
            </Button>
          )
        }
      >
        {model.failure?.message ?? model.error} {model.failure?.hint}
      </Notice>
      {adding && <AddModel start={start} onClose={() => setAdding(false)} onAdded={() => undefined} />}
    </>
  );
}

/** One base model: what it is, and the jobs and adapters on it. */
export function ModelPage({ id, onRemoved }: { id: string; onRemoved: () => void }) {
  const query = useQuery(modelQuery(id));
  const model = query.data;
  const meta = model ? (
    <>
      <StatePill state={model.status} />
      {model.parameters && <Tag>{parameters(model.parameters)} parameters</Tag>}
      <Tag>{ownerOf(model)}</Tag>
      <span>added {ago(model.created_at)}</span>
    </>
  ) : (
    !query.isError && <Tag>…</Tag>
  );
  return (
    <Page
      title={id}
      crumbs={[...CRUMBS, <span key="model">{id}</span>]}
      meta={meta}
      actions={model && <ModelActions model={model} onRemoved={onRemoved} />}
    >
      {query.isError && !model ? (
        <Failure title="Could not load the model" error={query.error} retry={() => void query.refetch()} />
      ) : !model ? (
        <SkeletonCard height={420} label="Loading the model" />
      ) : (
        <div className={styles.page}>
          {isLookedAt(model) && <InspectionProgress progress={model.progress} />}
          {(model.status === "failed" || model.failure) && <FailureNotice model={model} />}
          <ModelFacts model={model} />
          <ModelUses model={id} />
        </div>
      )}
    </Page>
  );
}
