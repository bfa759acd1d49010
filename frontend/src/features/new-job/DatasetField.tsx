import { Button, Select, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Dataset, datasetsQuery, useUploadDataset } from "@/api/datasets";
import { FileDrop } from "@/components/FileDrop";
import { UploadProblems } from "@/components/UploadProblems";
import { count } from "@/lib/format";
import { type Draft, type FieldErrors, needsTemplate } from "./draft";
import styles from "./NewJob.module.css";

type Props = { draft: Draft; errors: FieldErrors; onChange: (change: Partial<Draft>) => void };

function Chosen({ dataset, onClear }: { dataset: Dataset; onClear: () => void }) {
  return (
    <div className={styles.chosen}>
      <b>{dataset.name}</b>
      <span>
        {count(dataset.rows, "row")} · {dataset.columns.map((column) => column.name).join(", ")}
      </span>
      <Button variant="default" size="compact-sm" onClick={onClear}>
        Change
      </Button>
    </div>
  );
}

/** Step one: the prompts. */
export function DatasetField({ draft, errors, onChange }: Props) {
  const datasets = useQuery(datasetsQuery).data?.data ?? [];
  const upload = useUploadDataset();
  const send = (file: File) => upload.mutate(file, { onSuccess: (dataset) => onChange({ dataset }) });
  return (
    <fieldset className={styles.part}>
      <legend>Prompts</legend>
      <p>
        Rows with <code>messages</code> or <code>prompt</code>; every other column is there for the reward to
        read.
      </p>
      {draft.dataset ? (
        <Chosen dataset={draft.dataset} onClear={() => onChange({ dataset: null })} />
      ) : (
        <>
          <FileDrop
            what="a JSONL, CSV or Parquet file"
            note="It is checked row by row before anything is stored."
            busy={upload.isPending}
            onFile={send}
          />
          {datasets.length > 0 && (
            <Select
              aria-label="An uploaded dataset"
              placeholder="or choose an uploaded dataset"
              searchable
              value={null}
              data={datasets.map((one) => ({
                value: one.id,
                label: `${one.name} · ${count(one.rows, "row")}`,
              }))}
              onChange={(id) => onChange({ dataset: datasets.find((one) => one.id === id) ?? null })}
            />
          )}
        </>
      )}
      {upload.error && !draft.dataset && <UploadProblems title="The file was refused" error={upload.error} />}
      {errors["data.dataset"] && (
        <div className={styles.error} role="alert" data-field-error>
          {errors["data.dataset"]}
        </div>
      )}
      {needsTemplate(draft) && (
        <Textarea
          label="Prompt template"
          description={`This dataset has no prompt column. Write the user's message with the columns in braces: ${draft.dataset?.columns
            .map((column) => `{${column.name}}`)
            .join(" ")}`}
          autosize
          minRows={2}
          value={draft.promptTemplate}
          error={errors["data.prompt_template"]}
          onChange={(event) => onChange({ promptTemplate: event.currentTarget.value })}
        />
      )}
    </fieldset>
  );
}
