import type { ReactNode } from "react";
import styles from "./DataTable.module.css";

export type Column<Row> = {
  head: string;
  cell: (row: Row) => ReactNode;
  align?: "right";
  /** Takes the room that is left and cuts what does not fit. */
  grow?: boolean;
  /** Takes the room that is left, as wide as its content at least. */
  last?: boolean;
};

type Props<Row> = {
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined while loading: rows of the same height stand in, so nothing moves when they arrive. */
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string | number;
};

const STAND_INS = [1, 2, 3, 4, 5];

/** A dense table with 36-px rows. */
export function DataTable<Row>({ label, columns, rows, rowKey }: Props<Row>) {
  return (
    <section className={styles.frame} aria-label={label} tabIndex={0}>
      <table className={styles.table} aria-busy={rows === undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" data-align={column.align}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <td
                  key={column.head}
                  data-align={column.align}
                  data-grow={column.grow || undefined}
                  data-last={column.last || undefined}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {!rows &&
            STAND_INS.map((n) => (
              <tr key={n}>
                {columns.map((column) => (
                  <td key={column.head}>
                    <div className={styles.skeleton} />
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}
