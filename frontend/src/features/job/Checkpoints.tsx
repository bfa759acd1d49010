import { Anchor, Badge } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { adapterDownloadUrl } from "@/api/adapters";
import { type Checkpoint, checkpointsQuery } from "@/api/jobs";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { ago, bytes, reward } from "@/lib/format";

const COLUMNS: Column<Checkpoint>[] = [
  { head: "Step", align: "right", cell: (one) => one.step },
  { head: "Held-out reward", align: "right", cell: (one) => reward(one.held_out_reward) },
  {
    head: "Kept as",
    grow: true,
    cell: (one) => (
      <>
        {one.best && <Badge variant="light">best</Badge>}{" "}
        {one.final && <Badge variant="default">final</Badge>}
      </>
    ),
  },
  { head: "Checkpoint", cell: (one) => <code>{one.id}</code> },
  { head: "Size", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "Saved", align: "right", cell: (one) => ago(one.created_at) },
  {
    head: "Adapter",
    align: "right",
    cell: (one) =>
      one.adapter ? (
        <Anchor href={adapterDownloadUrl(one.adapter)} download>
          Download
        </Anchor>
      ) : (
        "–"
      ),
  },
];

export function Checkpoints({ id }: { id: string }) {
  const checkpoints = useQuery(checkpointsQuery(id));
  if (checkpoints.isError) {
    const retry = () => void checkpoints.refetch();
    return <Failure title="Checkpoints could not be loaded" error={checkpoints.error} retry={retry} />;
  }
  if (checkpoints.data?.data.length === 0) {
    return (
      <Empty title="No checkpoints yet">
        A checkpoint is an adapter as it was after a step, with its held-out reward. The first comes after as
        many steps as <code>limits.checkpoint_every</code> says.
      </Empty>
    );
  }
  return (
    <DataTable label="Checkpoints" columns={COLUMNS} rows={checkpoints.data?.data} rowKey={(one) => one.id} />
  );
}
