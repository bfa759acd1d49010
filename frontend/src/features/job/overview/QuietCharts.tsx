import type { ReactNode } from "react";
import { count } from "@/lib/format";
import type { ChartDef } from "../curves/charts";
import { isQuiet } from "../curves/quiet";
import type { SeriesMap } from "../series";
import styles from "./Overview.module.css";

type Props = {
  charts: readonly ChartDef[];
  series: SeriesMap;
  open: boolean;
  onOpen: (open: boolean) => void;
  draw: (def: ChartDef) => ReactNode;
};

const titles = (charts: readonly ChartDef[]) => charts.map(({ title }) => title).join(", ");

/** Charts whose lines do not move, out of the way until somebody opens them. */
export function QuietCharts({ charts, series, open, onOpen, draw }: Props) {
  if (charts.length === 0) return null;
  const moving = charts.filter((def) => !isQuiet(def, series));
  return (
    <section aria-label="Charts without change" className={styles.quiet}>
      <button type="button" aria-expanded={open} onClick={() => onOpen(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> {count(charts.length, "chart")} without change
      </button>
      <small title={titles(charts)}>
        {moving.length > 0 ? `Changed since: ${titles(moving)}` : titles(charts)}
      </small>
      {open && <div className={styles.small}>{charts.map(draw)}</div>}
    </section>
  );
}
