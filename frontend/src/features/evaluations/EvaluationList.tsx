import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { datasetsQuery } from "@/api/datasets";
import { type Evaluation, evaluationsQuery } from "@/api/evaluations";
import { ButtonLink } from "@/components/ButtonLink";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Page } from "@/components/Page";
import { StatePill } from "@/components/StatePill";
import { ago, NOTHING, percent, reward } from "@/lib/format";
import styles from "./Evaluations.module.css";
import { useAdapterNames } from "./use-names";
import { between, policyWords, titleOf } from "./words";

type Names = { adapters: ReadonlyMap<string, string>; datasets: ReadonlyMap<string, string> };

const metric = (one: Evaluation, name: string) => one.summary?.metrics[name];

const columns = ({ adapters, datasets }: Names): Column<Evaluation>[] => [
  {
    head: "Evaluation",
    grow: true,
    cell: (one) => (
      <Link to="/evaluations/$id" params={{ id: one.id }} data-row title={titleOf(one, adapters)}>
        {titleOf(one, adapters)}
      </Link>
    ),
  },
  {
    head: "Status",
    cell: (one) => (
      <>
        <StatePill state={one.status} />
        {one.status === "running" && ` ${percent(one.done / Math.max(1, one.total))}`}
      </>
    ),
  },
  {
    head: "Mean reward",
    align: "right",
    cell: (one) => {
      const estimate = metric(one, "eval/reward");
      return estimate ? (
        <>
          <b>{reward(estimate.value)}</b> <span className={styles.interval}>{between(estimate)}</span>
        </>
      ) : (
        NOTHING
      );
    },
  },
  {
    head: "Pass rate",
    hide: "narrow",
    align: "right",
    cell: (one) => percent(metric(one, "eval/pass_rate")?.value),
  },
  { head: "Model", hide: "medium", cut: true, cell: (one) => policyWords(one, adapters) },
  {
    head: "Dataset",
    hide: "medium",
    cut: true,
    cell: (one) => datasets.get(one.dataset ?? "") ?? one.dataset,
  },
  { head: "Reward", hide: "wide", cut: true, cell: (one) => one.reward },
  { head: "Rows", hide: "narrow", align: "right", cell: (one) => one.summary?.rows ?? NOTHING },
  { head: "Started", hide: "narrow", align: "right", cell: (one) => ago(one.created_at) },
];

/** Stand-alone evaluations, newest first; a row opens one. */
export function EvaluationList() {
  const { refusal } = useAccess();
  const list = useInfiniteQuery(evaluationsQuery);
  const adapters = useAdapterNames();
  const datasets = new Map(useQuery(datasetsQuery).data?.data.map(({ id, name }) => [id, name]));
  const rows = list.data?.pages.flatMap((page) => page.data);
  const add = refusal ? (
    <GatedButton refusal={refusal}>New evaluation</GatedButton>
  ) : (
    <ButtonLink to="/evaluations/new">New evaluation</ButtonLink>
  );
  return (
    <Page title="Evaluations" actions={(rows ? rows.length > 0 : list.isError) && add}>
      {list.isError && !rows ? (
        <Failure title="Could not load evaluations" error={list.error} retry={() => void list.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No evaluations yet" picture="jobs" action={add}>
          An evaluation samples a base model, adapter or checkpoint on a dataset and scores it with one
          reward. It shows the mean with its confidence interval and each row. You can compare two
          evaluations.
        </Empty>
      ) : (
        <div className={styles.page}>
          <DataTable
            label="Evaluations"
            columns={columns({ adapters, datasets })}
            rows={rows}
            rowKey={(one) => one.id}
            expected={3}
            keys
          />
          {list.hasNextPage && (
            <div>
              <Button
                variant="default"
                loading={list.isFetchingNextPage}
                onClick={() => void list.fetchNextPage()}
              >
                Earlier evaluations
              </Button>
            </div>
          )}
        </div>
      )}
    </Page>
  );
}
