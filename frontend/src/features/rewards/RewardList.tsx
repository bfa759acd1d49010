import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type RewardSummary, rewardsQuery } from "@/api/rewards";
import { ButtonLink } from "@/components/ButtonLink";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { ago, NOTHING } from "@/lib/format";

const COLUMNS: Column<RewardSummary>[] = [
  {
    head: "Reward",
    cell: (one) => (
      <Link to="/rewards/$id" params={{ id: one.id }} data-row>
        {one.name}
      </Link>
    ),
  },
  { head: "About", grow: true, cell: (one) => one.description ?? NOTHING },
  { head: "Revision", align: "right", cell: (one) => one.revision },
  { head: "Function", cell: (one) => (one.entry ? <code>{one.entry}</code> : NOTHING) },
  { head: "Scores", cell: (one) => `one ${one.granularity} at a time` },
  { head: "Changed", align: "right", cell: (one) => ago(one.updated_at) },
];

const create = <ButtonLink to="/rewards/new">New reward</ButtonLink>;

export function RewardList() {
  const rewards = useQuery(rewardsQuery);
  const rows = rewards.data?.data;
  return (
    <Page title="Rewards" actions={create}>
      {rewards.isError && !rows ? (
        <Failure
          title="Rewards could not be loaded"
          error={rewards.error}
          retry={() => void rewards.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty title="No rewards yet" action={create}>
          A reward is a Python function that scores one completion. Every edit becomes a revision, so each
          score can be traced to the code that gave it.
        </Empty>
      ) : (
        <DataTable label="Rewards" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} />
      )}
    </Page>
  );
}
