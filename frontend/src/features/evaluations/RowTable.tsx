import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { type Column, DataTable } from "@/components/DataTable";
import { NOTHING, number, reward, signed } from "@/lib/format";
import { ORDERS, type Order, ordered, type Row } from "./compare";
import styles from "./Evaluations.module.css";

const FIRST = 50;
const ALONE: Order[] = ["row", "low", "high"];
const BESIDE: Order[] = ["fell", "rose"];

type Shape = { beside: boolean; prompts: boolean; answers: boolean };

const columns = ({ beside, prompts, answers }: Shape, onOpen: (row: number) => void): Column<Row>[] => [
  {
    head: "Row",
    cell: (one) => (
      <button type="button" data-row aria-haspopup="dialog" onClick={() => onOpen(one.row)}>
        {number(one.row + 1, 9)}
      </button>
    ),
  },
  ...(prompts
    ? ([
        {
          head: "Prompt",
          grow: true,
          cell: ({ prompt }) => (
            <span dir="auto" title={prompt ?? undefined}>
              {prompt ?? NOTHING}
            </span>
          ),
        },
      ] satisfies Column<Row>[])
    : []),
  ...(answers
    ? ([
        {
          head: "Answer",
          cut: true,
          hide: "narrow",
          cell: ({ answer }) => (
            <span dir="auto" title={answer ?? undefined}>
              {answer ?? NOTHING}
            </span>
          ),
        },
      ] satisfies Column<Row>[])
    : []),
  {
    head: "Rewards",
    last: !prompts,
    hide: prompts ? "narrow" : undefined,
    cell: (one) => (
      <span className={styles.rewards}>
        {one.rewards.map((value, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: completions stand in the order they were sampled
          <span key={at}>{value === null ? NOTHING : number(value, 2)}</span>
        ))}
      </span>
    ),
  },
  { head: "Mean", align: "right", cell: (one) => <b>{reward(one.mean)}</b> },
  ...(beside
    ? ([
        { head: "Other", align: "right", hide: "narrow", cell: (one) => reward(one.other) },
        {
          head: "Change",
          align: "right",
          cell: (one) => (
            <span className={styles.change} data-sign={Math.sign(one.change ?? 0)}>
              {signed(one.change)}
            </span>
          ),
        },
      ] satisfies Column<Row>[])
    : []),
];

type Props = {
  rows: readonly Row[] | undefined;
  beside: boolean;
  order: Order;
  onOrder: (order: Order) => void;
  onOpen: (row: number) => void;
};

/** Every row: prompt, answer and its completions' rewards. A row opens the completions. */
export function RowTable({ rows, beside, order, onOrder, onOpen }: Props) {
  const [limit, setLimit] = useState(FIRST);
  const sorted = rows && ordered(rows, order);
  const shape = {
    beside,
    prompts: rows?.some(({ prompt }) => prompt !== null) ?? false,
    answers: rows?.some(({ answer }) => answer !== null) ?? false,
  };
  return (
    <section className={styles.part} aria-labelledby="evaluated-rows">
      <div className={styles.head}>
        <h2 id="evaluated-rows">Rows</h2>
        <NativeSelect
          aria-label="Sort rows"
          value={order}
          data={[...ALONE, ...(beside ? BESIDE : [])].map((value) => ({ value, label: ORDERS[value] }))}
          onChange={(event) => onOrder(event.currentTarget.value as Order)}
        />
      </div>
      <DataTable
        label="Evaluated rows"
        columns={columns(shape, onOpen)}
        rows={sorted?.slice(0, limit)}
        rowKey={(one) => one.row}
        keys
      />
      {sorted && sorted.length > limit && (
        <div>
          <Button variant="default" onClick={() => setLimit(limit + 4 * FIRST)}>
            Show more of {number(sorted.length, 6)}
          </Button>
        </div>
      )}
    </section>
  );
}
