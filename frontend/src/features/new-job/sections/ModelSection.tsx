import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type BaseModel, modelsQuery } from "@/api/models";
import { Failure } from "@/components/Failure";
import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import { Skeleton } from "@/components/Skeleton";
import { StatePill } from "@/components/StatePill";
import { bytes, number } from "@/lib/format";
import { setAt } from "@/lib/paths";
import { modelOf } from "../draft";
import { ShortField } from "../Field";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import { Section } from "../Section";
import { isStart, useStartAdapter } from "../start-adapter";
import { AddModel } from "./AddModel";
import { StartAdapter } from "./StartAdapter";

/** What inspection found, in one line. */
const factsOf = (model: BaseModel) =>
  [
    model.architecture,
    model.parameters && `${number(model.parameters)} parameters`,
    model.context_length && `${number(model.context_length, 6)} tokens of context`,
    model.has_chat_template ? "chat template" : "no chat template",
    model.bytes && bytes(model.bytes),
    model.licence,
  ].filter(Boolean);

type OptionProps = { model: BaseModel; chosen: boolean; disabled: boolean; onChoose: () => void };

function Option({ model, chosen, disabled, onChoose }: OptionProps) {
  const failed = model.status !== "ready";
  return (
    <label className={page.card} data-off={failed || undefined}>
      <input
        type="radio"
        name="model"
        value={model.id}
        checked={chosen}
        disabled={disabled || failed}
        onChange={onChoose}
      />
      <b>{model.id}</b>
      {failed && <StatePill state={model.status} />}
      <small>{failed ? model.error : factsOf(model).join(" · ")}</small>
      <small>{model.source}</small>
    </label>
  );
}

function Precision({ model }: { model: BaseModel | undefined }) {
  const { train, train_nf4: quantised } = model?.memory ?? {};
  const memory =
    train && quantised
      ? `Estimated memory to train: ${bytes(train)} in full precision, ${bytes(quantised)} in NF4. `
      : "";
  return (
    <ShortField path="base.precision" label="Precision">
      {memory}NF4 keeps the linear layers in 4 bits; steps take longer, and the trainer samples instead of
      vLLM.
    </ShortField>
  );
}

/** Step one: the weights that stay as they are. */
export function ModelSection() {
  const { draft, change, readOnly } = useForm();
  const { problems } = useField("model");
  const models = useQuery(modelsQuery);
  const [adding, setAdding] = useState(false);
  const id = modelOf(draft);
  const start = useStartAdapter(id);
  const chosen = start?.model ?? id;
  const choose = (id: string) => change((old) => setAt(old, "model", id));
  const list = models.data?.data;
  return (
    <Section id="model" title="Base model" about="The base weights do not change; the job trains an adapter.">
      {models.isError && !list && (
        <Failure title="Could not load models" error={models.error} retry={() => void models.refetch()} />
      )}
      <div className={page.cards} id={fieldId("model")} tabIndex={-1}>
        {!list && !models.isError && (
          <div className={page.card}>
            <Skeleton width="40%" />
            <Skeleton width="90%" />
          </div>
        )}
        {list?.map((model) => (
          <Option
            key={model.id}
            model={model}
            chosen={model.id === chosen}
            disabled={readOnly}
            onChoose={() => choose(model.id)}
          />
        ))}
      </div>
      {list?.length === 0 && <p>No models yet. The built-in model appears when a worker has inspected it.</p>}
      <StartAdapter
        value={isStart(id) ? id : undefined}
        base={isStart(chosen) ? undefined : chosen}
        disabled={readOnly}
        onChange={choose}
      />
      <Problems problems={problems} />
      <Precision model={list?.find((model) => model.id === chosen)} />
      {adding ? (
        <AddModel
          onCancel={() => setAdding(false)}
          onAdded={(model) => {
            choose(model.id);
            setAdding(false);
          }}
        />
      ) : (
        !readOnly && (
          <Button variant="default" w="fit-content" onClick={() => setAdding(true)}>
            Add a model
          </Button>
        )
      )}
    </Section>
  );
}
