import { Button, Checkbox, NativeSelect } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import {
  columnsOf,
  type Dataset,
  datasetQuery,
  datasetsQuery,
  type PromptView,
  renderedQuery,
} from "@/api/datasets";
import { Notice } from "@/components/Notice";
import { Problems } from "@/components/Problems";
import { count, number } from "@/lib/format";
import { getAt, isObject } from "@/lib/paths";
import { suggestionOf } from "@/lib/suggestion";
import { ShortField } from "../Field";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import styles from "../NewJob.module.css";

const ROLES = [
  ["prompt", "Prompt", "prompt"],
  ["messages", "Messages", "messages"],
  ["answer", "Answer", null],
  ["slice", "Slice", null],
] as const;

/** One column role; empty takes the column of that name where there is one. */
function Role({
  role,
  label,
  own,
  names,
}: {
  role: string;
  label: string;
  own: string | null;
  names: string[];
}) {
  const { set, readOnly } = useForm();
  const { field, problems } = useField(`data.columns.${role}`);
  if (!field) return null;
  const empty = own && names.includes(own) ? `${own} (by name)` : "none";
  const value = typeof field.value === "string" ? field.value : "";
  return (
    <div>
      <NativeSelect
        id={fieldId(field.path)}
        label={label}
        value={value}
        disabled={readOnly}
        error={problems.length > 0}
        data={[
          { value: "", label: empty },
          ...(value && !names.includes(value) ? [{ value, label: `${value} (not a column)` }] : []),
          ...names,
        ]}
        onChange={(event) => set(field, event.currentTarget.value || undefined)}
      />
      <Problems problems={problems} />
    </div>
  );
}

/** First row, rendered for the model will read it, or why it cannot be. */
function Example({ id, model, view }: { id: string; model: string; view: PromptView }) {
  const [settled] = useDebouncedValue(JSON.stringify(view), 400);
  const body = useMemo(() => ({ ...JSON.parse(settled), model, offset: 0, limit: 1 }), [settled, model]);
  const rendered = useQuery(renderedQuery(id, body));
  const row = rendered.data?.data[0];
  return (
    <figure className={styles.example} aria-busy={rendered.isFetching}>
      <figcaption>
        First row, rendered for {model}
        {row?.tokens != null && <span>{count(row.tokens, "token")}</span>}
        {row?.answer != null && <span>answer {row.answer}</span>}
      </figcaption>
      {rendered.isError ? (
        <p>
          {rendered.error.message} {"hint" in rendered.error ? String(rendered.error.hint ?? "") : ""}
        </p>
      ) : row?.error ? (
        <p className={styles.bad}>{row.error}</p>
      ) : (
        <pre dir="auto" tabIndex={0}>
          {row?.text ?? "…"}
        </pre>
      )}
    </figure>
  );
}

/** Whether rows with equal prompts stay on one side of the split. */
function Together() {
  const { set, readOnly } = useForm();
  const { field } = useField("data.split_by");
  if (!field) return null;
  return (
    <Checkbox
      id={fieldId(field.path)}
      label="Keep duplicate prompts in one split"
      description="Prevents duplicates of held-out prompts from being used for training."
      checked={field.value === "prompt"}
      disabled={readOnly}
      onChange={(event) => set(field, event.currentTarget.checked ? "prompt" : undefined)}
    />
  );
}

function HeldOut({ id, rows }: { id: string; rows: number }) {
  const { set, readOnly, draft } = useForm();
  const { field, problems } = useField("data.held_out");
  const others = (useQuery(datasetsQuery).data?.data ?? []).filter((one) => one.id !== id);
  if (!field) return null;
  const value = typeof field.value === "string" ? field.value : "";
  const heldOut = number(Math.min(256, Math.floor(rows / 10)));
  return (
    <div className={styles.two}>
      <div>
        <NativeSelect
          id={fieldId(field.path)}
          label="Held out for evaluation"
          description="Not used for training. The reward on these rows measures progress."
          inputWrapperOrder={["label", "input", "error", "description"]}
          value={value}
          disabled={readOnly}
          error={problems.length > 0}
          data={[
            { value: "", label: "Part of this dataset" },
            ...others.map((one) => ({ value: one.id, label: `${one.name} · ${count(one.rows, "row")}` })),
            ...(value && !others.some((one) => one.id === value) ? [value] : []),
          ]}
          onChange={(event) => set(field, event.currentTarget.value || undefined)}
        />
        <Problems problems={problems} />
      </div>
      {getAt(draft, "data.held_out") === undefined && (
        <ShortField path="data.held_out_rows" label="Held-out rows" placeholder={heldOut}>
          Leave empty for 10%, at most 256. 0 holds out none.
        </ShortField>
      )}
      {getAt(draft, "data.held_out") === undefined && <Together />}
    </div>
  );
}

/** What to do about a dataset without prompt column, with the server's guess. */
function PromptRequired({ dataset, names }: { dataset: Dataset; names: string[] }) {
  const { set, readOnly } = useForm();
  const fields = {
    prompt: useField("data.columns.prompt").field,
    messages: useField("data.columns.messages").field,
    answer: useField("data.columns.answer").field,
  };
  const suggested = suggestionOf(dataset);
  const apply = () => {
    for (const [role, column] of suggested) {
      const field = fields[role];
      if (field) set(field, column);
    }
  };
  return (
    <Notice
      tone="info"
      title="Prompt column required"
      action={
        suggested.length > 0 && (
          <Button size="compact-sm" disabled={readOnly} onClick={apply}>
            Use {suggested.map(([role, column]) => `${column} as ${role}`).join(", ")}
          </Button>
        )
      }
    >
      Select the column that holds the prompt, or write a template with columns in braces:{" "}
      {names.map((name) => `{${name}}`).join(" ")}
    </Notice>
  );
}

/** Prompt settings: column roles, template, system message, with the first row shown; and what is held out. */
export function PromptFields({ id }: { id: string }) {
  const { draft, model } = useForm();
  const dataset = useQuery(datasetQuery(id)).data;
  const names = columnsOf(dataset).map((column) => column.name);
  const template = getAt(draft, "data.prompt_template");
  const bare = dataset && !names.some((name) => name === "messages" || name === "prompt");
  const columns = getAt(draft, "data.columns");
  const hasColumns = isObject(columns) && (columns.prompt || columns.messages);
  const needs = bare && !hasColumns && template === undefined;
  const view = {
    columns: isObject(columns) ? columns : {},
    prompt_template: template,
    system_prompt: getAt(draft, "data.system_prompt"),
  } as PromptView;
  return (
    <>
      {model && dataset && <Example id={id} model={model.id} view={view} />}
      <details className={styles.more} open={needs || undefined}>
        <summary>Prompt settings</summary>
        <div className={styles.stack}>
          {needs && dataset && <PromptRequired dataset={dataset} names={names} />}
          <div className={styles.four}>
            {ROLES.map(([role, label, own]) => (
              <Role key={role} role={role} label={label} own={own} names={names} />
            ))}
          </div>
          <ShortField path="data.prompt_template" label="Prompt template" />
          <ShortField path="data.system_prompt" label="System message" />
        </div>
      </details>
      {dataset && <HeldOut id={id} rows={dataset.rows} />}
    </>
  );
}
