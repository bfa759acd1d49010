import type { DatasetColumn } from "@/api/datasets";
import { count } from "@/lib/format";
import { valueText } from "@/lib/prompt";
import styles from "./RowsTable.module.css";

const MOST_CHARACTERS = 240;
const STAND_INS = Array.from({ length: 8 }, (_, i) => i);

type Values = Record<string, unknown>;

/** Text of a cell: the start of its value, "null", or nothing if the row lacks the column. */
function Cell({ values, name }: { values: Values; name: string }) {
  if (!(name in values)) return <span className={styles.none}>missing</span>;
  const value = values[name];
  if (value === null) return <span className={styles.none}>null</span>;
  const text = valueText(value);
  if (text === "") return <span className={styles.none}>empty</span>;
  return (
    <code className={styles.cell} dir="auto">
      {text.slice(0, MOST_CHARACTERS)}
    </code>
  );
}

type Props = {
  columns: readonly DatasetColumn[];
  rows: readonly Values[] | undefined;
  offset: number;
  heldOut: ReadonlySet<number>;
  onOpen: (row: number) => void;
};

/** Rows as they stand in the file; each opens in a panel, held-out ones are marked. */
export function RowsTable({ columns, rows, offset, heldOut, onOpen }: Props) {
  const numbered = rows?.map((values, i) => ({ row: offset + i, values }));
  return (
    <section className={styles.frame} aria-label="Rows" tabIndex={0}>
      <table className={styles.table} aria-busy={rows === undefined}>
        <thead>
          <tr>
            <th scope="col" data-align="right">
              Row
            </th>
            <th scope="col">Split</th>
            {columns.map((column) => (
              <th key={column.name} scope="col">
                <b>{column.name}</b> {column.type}
                {column.nulls > 0 && <span className={styles.nulls}>{count(column.nulls, "null")}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {numbered?.map(({ row, values }) => (
            <tr key={row}>
              <td data-align="right">
                <button
                  type="button"
                  className={styles.open}
                  aria-label={`Open row ${row + 1}`}
                  onClick={() => onOpen(row)}
                >
                  {row + 1}
                </button>
              </td>
              <td>
                {heldOut.has(row) ? (
                  <span className={styles.held}>held out</span>
                ) : (
                  <span className={styles.none}>train</span>
                )}
              </td>
              {columns.map((column) => (
                <td key={column.name}>
                  <Cell values={values} name={column.name} />
                </td>
              ))}
            </tr>
          ))}
          {!rows &&
            STAND_INS.map((n) => (
              <tr key={n}>
                <td colSpan={columns.length + 2}>
                  <div className={styles.skeleton} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}
