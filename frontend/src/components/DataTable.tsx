import { Fragment, type ReactNode, type RefObject, useRef } from "react";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./DataTable.module.css";
import { Skeleton } from "./Skeleton";

export type Column<Row> = {
  head: string;
  /** Name of the order by this column; its head is a button. */
  sort?: string;
  cell: (row: Row) => ReactNode;
  align?: "right";
  /** Takes the room that is left and cuts what does not fit. */
  grow?: boolean;
  /** A name of any length beside a column that grows: cut where it would push the others away. */
  cut?: boolean;
  /** Takes the room that is left, as wide as its content at least. */
  last?: boolean;
  /** Left out where the table is narrower than 620, 1080 or 1240 px. */
  hide?: "narrow" | "medium" | "wide";
};

type Props<Row> = {
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined while loading: rows of the same height stand in, so nothing moves when they arrive. */
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string | number;
  /** How many rows stand in while loading. */
  expected?: number;
  /** `j` and `k` walk over the rows; for the main table of a screen. */
  keys?: boolean;
  /** Such as `name` or `-name`, and what a click on a head asks for. */
  order?: { sort: string; onSort: (sort: string) => void };
  /** Heading of a row's group; rows of a group follow one another. */
  groupOf?: (row: Row) => string;
};

function Head({ head, sort, order }: { head: string; sort?: string; order?: Props<never>["order"] }) {
  if (!sort || !order) return head;
  const descending = order.sort === `-${sort}`;
  const current = descending || order.sort === sort;
  return (
    <button
      type="button"
      className={styles.sort}
      onClick={() => order.onSort(descending ? sort : `-${sort}`)}
    >
      {head}
      <span aria-hidden="true">{current ? (descending ? " ↓" : " ↑") : ""}</span>
    </button>
  );
}

const ariaSort = (sort: string | undefined, order: Props<never>["order"]) =>
  !sort || !order
    ? undefined
    : order.sort === sort
      ? "ascending"
      : order.sort === `-${sort}`
        ? "descending"
        : "none";

/** The link of the row `by` rows away from the one that has the focus; the first when none has. */
function step(frame: HTMLElement | null, by: 1 | -1): void {
  const links = [...(frame?.querySelectorAll<HTMLElement>("a[data-row], button[data-row]") ?? [])];
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
}

function RowKeys({ frame }: { frame: RefObject<HTMLElement | null> }) {
  useShortcuts("lists", { j: () => step(frame.current, 1), k: () => step(frame.current, -1) });
  return null;
}

/** A dense table with 36-px rows. A link or button with `data-row` in a cell covers its row. */
export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey,
  expected = 5,
  keys = false,
  order,
  groupOf,
}: Props<Row>) {
  const frame = useRef<HTMLElement>(null);
  return (
    <section className={styles.frame} aria-label={label} tabIndex={0} ref={frame}>
      {keys && <RowKeys frame={frame} />}
      <table className={styles.table} aria-busy={rows === undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.head}
                scope="col"
                data-align={column.align}
                data-hide={column.hide}
                aria-sort={ariaSort(column.sort, order)}
              >
                <Head head={column.head} sort={column.sort} order={order} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map((row, n) => {
            const group = groupOf?.(row);
            const before = rows[n - 1];
            const isFirst = groupOf && (before === undefined || groupOf(before) !== group);
            return (
              <Fragment key={rowKey(row)}>
                {isFirst && (
                  <tr className={styles.group}>
                    <th scope="rowgroup" colSpan={columns.length}>
                      {group}
                    </th>
                  </tr>
                )}
                <tr>
                  {columns.map((column) => (
                    <td
                      key={column.head}
                      data-align={column.align}
                      data-grow={column.grow || undefined}
                      data-cut={column.cut || undefined}
                      data-last={column.last || undefined}
                      data-hide={column.hide}
                    >
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
              </Fragment>
            );
          })}
          {!rows &&
            Array.from({ length: expected }, (_, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows that stand in have no other name
              <tr key={n}>
                {columns.map((column) => (
                  <td key={column.head} data-hide={column.hide} data-grow={column.grow || undefined}>
                    <Skeleton height={10} />
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}
