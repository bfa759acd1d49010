import { Button, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Dataset, datasetQuery, datasetsQuery, useUpload } from "@/api/datasets";
import { Failure } from "@/components/Failure";
import { FileDrop } from "@/components/FileDrop";
import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import { Skeleton } from "@/components/Skeleton";
import { UploadProblems } from "@/components/UploadProblems";
import { count, percent } from "@/lib/format";
import { datasetOf, withDataset } from "../draft";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import styles from "../NewJob.module.css";
import { Section } from "../Section";
import { PromptFields } from "./PromptFields";

function Pick({ onPick }: { onPick: (dataset: Dataset) => void }) {
  const datasets = useQuery(datasetsQuery).data?.data ?? [];
  const { upload, start, reset } = useUpload(onPick);
  const sending = upload.phase === "sending" || upload.phase === "checking";
  return (
    <>
      {datasets.length > 0 && (
        <Select
          aria-label="An uploaded dataset"
          placeholder="Choose an uploaded dataset"
          searchable
          value={null}
          data={datasets.map((one) => ({
            value: one.id,
            label: `${one.name} · ${count(one.rows, "row")}`,
          }))}
          onChange={(id) => {
            const one = datasets.find((entry) => entry.id === id);
            if (one) onPick(one);
          }}
        />
      )}
      <FileDrop
        what="a JSONL, CSV or Parquet file"
        note="Each row is validated before the file is saved."
        onFile={(file) => void start(file)}
      />
      <div role="status" className={page.quiet}>
        {upload.phase === "sending" &&
          `Sending ${upload.file.name}: ${percent(upload.total ? upload.sent / upload.total : 0)}${upload.waiting ? ", waiting for the server" : ""}`}
        {upload.phase === "checking" && `Checking the rows of ${upload.file.name}`}
        {sending && (
          <Button variant="subtle" size="compact-sm" onClick={reset}>
            Stop
          </Button>
        )}
      </div>
      {upload.phase === "refused" && (
        <UploadProblems
          title={`${upload.file.name} was rejected`}
          error={upload.error}
          onSkip={() => void start(upload.file, true)}
        />
      )}
    </>
  );
}

function Chosen({ id, onChange }: { id: string; onChange: () => void }) {
  const { readOnly } = useForm();
  const dataset = useQuery(datasetQuery(id));
  if (dataset.isError && !dataset.data) {
    return (
      <>
        <Failure title="Could not load the dataset" error={dataset.error} />
        <Button variant="default" w="fit-content" onClick={onChange}>
          Choose another
        </Button>
      </>
    );
  }
  const { data } = dataset;
  return (
    <div className={page.chosen}>
      {data ? (
        <>
          <Link to="/datasets/$id" params={{ id }}>
            {data.name}
          </Link>
          <span>
            {count(data.rows, "row")} · {data.columns.map((column) => String(column.name)).join(", ")}
          </span>
        </>
      ) : (
        <Skeleton width="50%" />
      )}
      {!readOnly && (
        <Button variant="default" size="compact-sm" onClick={onChange}>
          Change
        </Button>
      )}
    </div>
  );
}

/** Step two: the prompts, and how a row becomes one. */
export function DataSection() {
  const { draft, change, readOnly } = useForm();
  const { problems } = useField("data.dataset");
  const id = datasetOf(draft);
  return (
    <Section
      id="data"
      title="Data"
      about={
        <>
          Rows with <code>messages</code> or <code>prompt</code>, or columns for a prompt template. Rewards
          can read all columns.
        </>
      }
    >
      <div id={fieldId("data.dataset")} tabIndex={-1} className={styles.stack}>
        {id ? (
          <Chosen id={id} onChange={() => change((old) => withDataset(old, null))} />
        ) : readOnly ? (
          <p>No dataset selected.</p>
        ) : (
          <Pick onPick={(dataset) => change((old) => withDataset(old, dataset))} />
        )}
        <Problems problems={problems} />
      </div>
      {id && <PromptFields id={id} />}
    </Section>
  );
}
