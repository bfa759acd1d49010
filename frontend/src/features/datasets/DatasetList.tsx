import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { type Dataset, datasetsQuery } from "@/api/datasets";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { ago, bytes, number } from "@/lib/format";
import styles from "./DatasetPage.module.css";
import { UploadPanel } from "./UploadPanel";

const COLUMNS: Column<Dataset>[] = [
  {
    head: "Dataset",
    cut: true,
    cell: (one) => (
      <Link to="/datasets/$id" params={{ id: one.id }} data-row title={one.name}>
        {one.name}
        {one.newest && <span className={styles.older}> older version</span>}
      </Link>
    ),
  },
  { head: "Rows", align: "right", cell: (one) => number(one.rows, 6) },
  { head: "Columns", grow: true, cell: (one) => one.columns.map((column) => column.name).join(", ") },
  { head: "Format", hide: "narrow", cell: (one) => one.format.toUpperCase() },
  { head: "Size", hide: "narrow", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "Jobs", hide: "narrow", align: "right", cell: (one) => one.jobs ?? 0 },
  { head: "Uploaded", hide: "narrow", align: "right", cell: (one) => ago(one.created_at) },
];

const EXAMPLE = '{"messages": [{"role": "user", "content": "68+52="}], "answer": "120"}';

/** All datasets, and a place to drop the next one. */
export function DatasetList({ onUploaded }: { onUploaded: (dataset: Dataset) => void }) {
  const datasets = useQuery(datasetsQuery);
  const { refusal } = useAccess();
  const rows = datasets.data?.data;
  return (
    <Page title="Datasets">
      <div className={styles.stack}>
        <UploadPanel refusal={refusal} onDone={onUploaded} />
        {datasets.isError && !rows ? (
          <Failure
            title="Could not load datasets"
            error={datasets.error}
            retry={() => void datasets.refetch()}
          />
        ) : rows?.length === 0 ? (
          <Empty title="No datasets yet">
            A dataset is a file of prompts. Each row holds one prompt and the data that the reward needs, such
            as the reference answer: <code className={styles.example}>{EXAMPLE}</code>
          </Empty>
        ) : (
          <DataTable label="Datasets" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} />
        )}
      </div>
    </Page>
  );
}
