import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Dataset, datasetsQuery, useUploadDataset } from "@/api/datasets";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { FileDrop } from "@/components/FileDrop";
import { Page } from "@/components/Page";
import { UploadProblems } from "@/components/UploadProblems";
import { ago, bytes, number } from "@/lib/format";

const COLUMNS: Column<Dataset>[] = [
  {
    head: "Dataset",
    grow: true,
    cell: (one) => (
      <Link to="/datasets/$id" params={{ id: one.id }} data-row>
        {one.name}
      </Link>
    ),
  },
  { head: "Rows", align: "right", cell: (one) => number(one.rows, 6) },
  { head: "Columns", cell: (one) => one.columns.map((column) => column.name).join(", ") },
  { head: "Format", cell: (one) => one.format.toUpperCase() },
  { head: "Size", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "Jobs", align: "right", cell: (one) => one.jobs ?? 0 },
  { head: "Uploaded", align: "right", cell: (one) => ago(one.created_at) },
];

/** All datasets, and a place to drop the next one. */
export function DatasetList({ onUploaded }: { onUploaded: (dataset: Dataset) => void }) {
  const datasets = useQuery(datasetsQuery);
  const upload = useUploadDataset();
  const rows = datasets.data?.data;
  return (
    <Page title="Datasets">
      <div style={{ display: "grid", gap: 12 }}>
        <FileDrop
          what="a JSONL, CSV or Parquet file"
          note="One prompt per row: a messages or prompt column, and any columns the reward wants to read."
          busy={upload.isPending}
          onFile={(file) => upload.mutate(file, { onSuccess: onUploaded })}
        />
        {upload.error && (
          <UploadProblems title="The file was refused, nothing is stored" error={upload.error} />
        )}
        {datasets.isError && !rows ? (
          <Failure
            title="Datasets could not be loaded"
            error={datasets.error}
            retry={() => void datasets.refetch()}
          />
        ) : rows?.length === 0 ? (
          <Empty title="No datasets yet">
            A dataset is a file of prompts. Each row is one prompt with whatever the reward needs to judge an
            answer, for example the right one.
          </Empty>
        ) : (
          <DataTable label="Datasets" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} />
        )}
      </div>
    </Page>
  );
}
