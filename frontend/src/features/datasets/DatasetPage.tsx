import { Button, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Dataset, datasetQuery, useDeleteDataset } from "@/api/datasets";
import { ButtonLink } from "@/components/ButtonLink";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { Page, Tag } from "@/components/Page";
import { ago, bytes, count } from "@/lib/format";
import styles from "./DatasetPage.module.css";
import { RowsPreview } from "./RowsPreview";

type ColumnInfo = { name?: string; type?: string; nulls?: number; example?: unknown };

const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

const COLUMNS: Column<ColumnInfo>[] = [
  { head: "Column", cell: (column) => <b style={{ fontWeight: 550 }}>{column.name}</b> },
  { head: "Type", cell: (column) => column.type },
  { head: "Empty", align: "right", cell: (column) => column.nulls ?? 0 },
  { head: "Example", grow: true, cell: (column) => <code>{shown(column.example)}</code> },
];

function DeleteButton({ dataset, onDeleted }: { dataset: Dataset; onDeleted: () => void }) {
  const [asking, { open, close }] = useDisclosure(false);
  const remove = useDeleteDataset();
  return (
    <>
      <Button variant="default" onClick={open}>
        Delete…
      </Button>
      <Modal opened={asking} onClose={close} title={`Delete ${dataset.name}?`}>
        <Text mb="md">
          The {count(dataset.rows, "row")} are removed from this server. Finished jobs keep their curves and
          completions; the file cannot be brought back.
        </Text>
        {remove.error && <Failure title="Not deleted" error={remove.error} />}
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={close} data-autofocus>
            Keep it
          </Button>
          <Button
            color="red"
            variant="light"
            loading={remove.isPending}
            onClick={() => remove.mutate(dataset.id, { onSuccess: onDeleted })}
          >
            Delete the dataset
          </Button>
        </Group>
      </Modal>
    </>
  );
}

type Props = { id: string; offset: number; onOffset: (offset: number) => void; onDeleted: () => void };

/** One dataset: what was found in it, and its rows. */
export function DatasetPage({ id, offset, onOffset, onDeleted }: Props) {
  const query = useQuery(datasetQuery(id));
  const dataset = query.data;
  const crumbs = [
    <Link key="datasets" to="/datasets">
      Datasets
    </Link>,
    id,
  ];
  const meta = dataset && (
    <>
      <Tag>{count(dataset.rows, "row")}</Tag>
      <Tag>{dataset.format.toUpperCase()}</Tag>
      <Tag>{bytes(dataset.bytes)}</Tag>
      <Tag>used by {count(dataset.jobs ?? 0, "job")}</Tag>
      <span>uploaded {ago(dataset.created_at)}</span>
    </>
  );
  const actions = dataset && (
    <>
      <DeleteButton dataset={dataset} onDeleted={onDeleted} />
      <ButtonLink to="/jobs/new" search={{ dataset: id }}>
        Train on it
      </ButtonLink>
    </>
  );
  return (
    <Page title={dataset?.name ?? "Dataset"} crumbs={crumbs} meta={meta} actions={actions}>
      {query.isError && !dataset ? (
        <Failure
          title="The dataset could not be loaded"
          error={query.error}
          retry={() => void query.refetch()}
        />
      ) : (
        <div className={styles.stack}>
          {dataset?.warnings?.map((warning) => (
            <Notice key={warning} tone="warn" title="Worth knowing">
              {warning}
            </Notice>
          ))}
          <h2>Columns</h2>
          <DataTable
            label="Columns"
            columns={COLUMNS}
            rows={dataset?.columns as ColumnInfo[] | undefined}
            rowKey={(column) => column.name ?? ""}
          />
          <RowsPreview id={id} offset={offset} onOffset={onOffset} />
        </div>
      )}
    </Page>
  );
}
