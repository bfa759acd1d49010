import { count, NOTHING } from "@/lib/format";
import styles from "./Chart.module.css";
import { headings } from "./export";
import { type Drawing, within } from "./model";
import type { Range } from "./zoom";

type Props = {
  caption: string;
  drawing: Drawing;
  range: Range | null;
  /** Name and words of a second x column, when the axis is not steps. */
  x: { name: string; say: (index: number) => string } | undefined;
  height: number;
  format: (value: number) => string;
};

const MOST_ROWS = 1000;

/** The same numbers as a table, newest step first, in the same space as the plot. */
export function ChartTable({ caption, drawing, range, x, height, format }: Props) {
  const [first, last] = within(drawing.steps, range);
  const rows = Array.from({ length: Math.max(0, Math.min(MOST_ROWS, last - first + 1)) }, (_, i) => last - i);
  const left = last - first + 1 - rows.length;
  const names = headings(drawing);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a scrolling box must be reachable by keyboard
    <div
      className={styles.table}
      style={{ height }}
      tabIndex={0}
      role="group"
      aria-label={`${caption}, numbers`}
    >
      <table>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">step</th>
            {x && <th scope="col">{x.name}</th>}
            {names.map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((at) => (
            <tr key={drawing.steps[at]}>
              <th scope="row">{drawing.steps[at]}</th>
              {x && <td>{x.say(at)}</td>}
              {drawing.cells.map((column, i) => {
                const value = column[at];
                return (
                  <td key={names[i]}>{value === null || value === undefined ? NOTHING : format(value)}</td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && <p>{count(left, "earlier row")} in the CSV; or zoom in.</p>}
    </div>
  );
}
