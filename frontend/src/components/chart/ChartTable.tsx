import type { AlignedData } from "uplot";
import styles from "./Chart.module.css";

type Props = {
  caption: string;
  labels: readonly string[];
  data: AlignedData;
  height: number;
  format: (value: number) => string;
};

const MOST_ROWS = 2000;

/** The same numbers as a table, newest step first, in the same space as the plot. */
export function ChartTable({ caption, labels, data, height, format }: Props) {
  const [steps, ...columns] = data;
  const rows = Array.from(steps, (step, i) => ({ step, i })).reverse();
  return (
    <div className={styles.table} style={{ height }} tabIndex={0}>
      <table>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">step</th>
            {labels.map((label) => (
              <th scope="col" key={label}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map(({ step, i }) => (
            <tr key={step}>
              <th scope="row">{step}</th>
              {columns.map((column, at) => {
                const value = column[i];
                return (
                  <td key={labels[at]}>{value === null || value === undefined ? "–" : format(value)}</td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
