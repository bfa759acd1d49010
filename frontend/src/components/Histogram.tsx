import { useState } from "react";
import type { Bin } from "@/lib/distribution";
import { number } from "@/lib/format";
import { layout } from "@/lib/histogram-layout";
import styles from "./Histogram.module.css";

type Props = {
  title: string;
  unit: string;
  /** What is counted: "prompts". */
  what: string;
  bins: readonly Bin[];
  /** How a bin reads: "14–17" or "0.5". */
  name: (bin: Bin) => string;
  /** The drawing in one sentence. */
  summary: string;
  mark?: { value: number; label: string } | null;
};

/** Names that fit under the bars of a narrow drawing. */
const MOST_NAMES = 12;

/** Counts over a value as bars, with its sentence and its table. */
export function Histogram({ title, unit, what, bins, name, summary, mark }: Props) {
  const [table, setTable] = useState(false);
  const { bars, low, high, mark: markAt } = layout(bins, mark?.value);
  const points = bins.every((bin) => bin.low === bin.high);
  // Bins of one whole number each have a name of their own; between wider ones half a token is no place to name.
  const whole = bins.every((bin) => Number.isInteger(bin.low) && Number.isInteger(bin.high));
  const single = whole && bins.length <= MOST_NAMES && bins.every((bin) => bin.high - bin.low === 1);
  const middle = (low + high) / 2;
  return (
    <figure className={styles.figure}>
      <div className={styles.head}>
        <b>{title}</b>
        <span>{unit}</span>
        <button type="button" onClick={() => setTable(!table)} aria-pressed={table}>
          {table ? "Bars" : "Table"}
        </button>
      </div>
      {table ? (
        <section className={styles.table} tabIndex={0} aria-label={`${title} as a table`}>
          <table>
            <thead>
              <tr>
                <th scope="col">{unit}</th>
                <th scope="col">{what}</th>
              </tr>
            </thead>
            <tbody>
              {bins.map((bin) => (
                <tr key={bin.low}>
                  <th scope="row">{name(bin)}</th>
                  <td>{number(bin.count, 6)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : (
        <div className={styles.drawing} role="img" aria-label={summary}>
          <div className={styles.plot}>
            {bars.map(({ left, width, height, bin }) => (
              <div key={bin.low} className={styles.place} style={{ left: `${left}%`, width: `${width}%` }}>
                {bin.count > 0 && bars.length <= 16 && <span>{number(bin.count, 6)}</span>}
                <div
                  className={styles.bar}
                  data-points={points || undefined}
                  style={{ height: `${height}%` }}
                  title={`${name(bin)} ${unit}: ${number(bin.count, 6)} ${what}`}
                />
              </div>
            ))}
            {mark && markAt !== null && (
              <div
                className={styles.mark}
                style={{ left: `${markAt}%` }}
                data-right={markAt > 60 || undefined}
              >
                <span>{mark.label}</span>
              </div>
            )}
          </div>
          <div className={styles.axis}>
            {points || (single && markAt === null) ? (
              bins.map((bin) => (
                <span key={bin.low} className={styles.point}>
                  {name(bin)}
                </span>
              ))
            ) : (
              <>
                <span>{number(low)}</span>
                {(!whole || Number.isInteger(middle)) && <span>{number(middle)}</span>}
                <span>
                  {number(high)}
                  {mark && markAt === null && ` · ${mark.label} →`}
                </span>
              </>
            )}
          </div>
        </div>
      )}
      <figcaption>{summary}</figcaption>
    </figure>
  );
}
