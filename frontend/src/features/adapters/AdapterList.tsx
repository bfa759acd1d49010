import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Adapter, adapterDownloadUrl, adaptersQuery } from "@/api/adapters";
import { ButtonLink } from "@/components/ButtonLink";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { ago, bytes, reward } from "@/lib/format";

const COLUMNS: Column<Adapter>[] = [
  { head: "Adapter", grow: true, cell: (one) => <b style={{ fontWeight: 550 }}>{one.name}</b> },
  { head: "Id", cell: (one) => <code>{one.id}</code> },
  { head: "Model", cell: (one) => one.model },
  {
    head: "Job",
    cell: (one) => (
      <Link to="/jobs/$id" params={{ id: one.job }} data-row>
        {one.job}
      </Link>
    ),
  },
  { head: "Step", align: "right", cell: (one) => one.step },
  { head: "Held-out reward", align: "right", cell: (one) => reward(one.held_out_reward) },
  { head: "Size", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "Made", align: "right", cell: (one) => ago(one.created_at) },
  {
    head: "File",
    align: "right",
    cell: (one) => (
      <Anchor
        style={{ position: "relative", zIndex: 1 }}
        href={adapterDownloadUrl(one.id)}
        download
        aria-label={`Download ${one.name}`}
      >
        Download
      </Anchor>
    ),
  },
];

export function AdapterList() {
  const adapters = useQuery(adaptersQuery);
  const rows = adapters.data?.data;
  return (
    <Page title="Adapters">
      {adapters.isError && !rows ? (
        <Failure
          title="Adapters could not be loaded"
          error={adapters.error}
          retry={() => void adapters.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty title="No adapters yet" action={<ButtonLink to="/jobs/new">New job</ButtonLink>}>
          A job that succeeds leaves its adapter here: a standard PEFT folder to download and load anywhere.
        </Empty>
      ) : (
        <DataTable label="Adapters" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} />
      )}
    </Page>
  );
}
