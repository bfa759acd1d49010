import { useInViewport, useThrottledValue } from "@mantine/hooks";
import { type CSSProperties, useMemo, useState } from "react";
import { number, tick } from "@/lib/format";
import styles from "./Chart.module.css";
import { ChartTable } from "./ChartTable";
import { type ChartBand, type ChartLine, chartData, valueRange } from "./model";
import { Plot } from "./Plot";

type Props = {
  title: string;
  unit: string;
  lines: readonly ChartLine[];
  band?: ChartBand;
  /** Last step of the axis; steps that are still to come stay empty. */
  lastStep: number;
  /** The step the job is at, while it is under way. */
  current: number | null;
  min?: number;
  max?: number;
  height?: number;
  format?: (value: number) => string;
  /** Numbers of the value axis, where `format` is too long for it. */
  tick?: (value: number) => string;
  /** One sentence in words: what the curve does. */
  summary: string;
  /** What the metric means, shown on hovering the title. */
  meaning?: string;
  sync?: string;
  onPick?: (step: number) => void;
};

const kindOf = (line: ChartLine) => (line.sparse ? "sparse" : line.dash ? "dash" : "line");

/** A curve over steps as a figure: title, unit, legend with the values under the crosshair, plot or table, sentence. */
export function Chart(props: Props) {
  const { title, unit, lines, band, lastStep, height = 168, format = number, summary } = props;
  const { ref, inViewport } = useInViewport<HTMLDivElement>();
  const [asTable, setAsTable] = useState(false);
  const [index, setIndex] = useState<number | null>(null);
  const [focused, setFocused] = useState(false);

  const data = useMemo(() => chartData(band, lines), [band, lines]);
  const values = useMemo(
    () => valueRange(data, { min: props.min, max: props.max }),
    [data, props.min, props.max],
  );
  const step = index === null ? undefined : data[0][index];
  const offset = band ? 3 : 1;
  const at = (column: number) => {
    const value = index === null ? undefined : data[column]?.[index];
    return value === null || value === undefined ? "" : format(value);
  };
  const labels = [
    ...(band ? [`${band.label} high`, `${band.label} low`] : []),
    ...lines.map((line) => line.label),
  ];
  const spoken = useThrottledValue(
    step === undefined || !focused
      ? ""
      : `Step ${step}: ${lines.flatMap((line, i) => (at(i + offset) ? [`${line.label} ${at(i + offset)}`] : [])).join(", ")}`,
    1000,
  );

  return (
    <figure className={styles.figure}>
      <figcaption className={styles.caption}>
        <h2 title={props.meaning}>{title}</h2>
        <span className={styles.unit}>{step === undefined ? unit : `step ${step}`}</span>
        <button
          type="button"
          className={styles.toggle}
          aria-pressed={asTable}
          aria-label={`${title} as a table`}
          title={asTable ? "Show the curve" : "Show the numbers as a table"}
          onClick={() => setAsTable(!asTable)}
        >
          <svg
            width="14"
            height="14"
            viewBox="0 0 14 14"
            aria-hidden="true"
            fill="none"
            stroke="currentColor"
          >
            <rect x="1.5" y="2.5" width="11" height="9" rx="1.5" />
            <path d="M1.5 5.5h11M1.5 8.5h11M6 5.5v6" />
          </svg>
        </button>
      </figcaption>
      <div
        className={styles.legend}
        aria-hidden="true"
        data-terse={(height < 150 && step !== undefined) || undefined}
      >
        {band && (
          <span style={{ "--series": `var(--${band.color})` } as CSSProperties}>
            <i data-kind="band" />
            <span>{band.label}</span>
            {at(2) && <b>{`${at(2)}–${at(1)}`}</b>}
          </span>
        )}
        {lines.map((line, i) => (
          <span key={line.label} style={{ "--series": `var(--${line.color})` } as CSSProperties}>
            <i data-kind={kindOf(line)} />
            <span>{line.label}</span>
            {at(i + offset) && <b>{at(i + offset)}</b>}
          </span>
        ))}
      </div>
      <div ref={ref} style={{ minHeight: height }}>
        {asTable && (
          <ChartTable caption={title} labels={labels} data={data} height={height} format={format} />
        )}
        {!asTable && inViewport && (
          <Plot
            data={data}
            band={band}
            lines={lines}
            steps={[0, Math.max(1, lastStep)]}
            values={values}
            current={props.current}
            height={height}
            tick={props.tick ?? tick}
            sync={props.sync}
            label={`${title}: ${summary} Arrow keys read single steps.`}
            onCursor={setIndex}
            onFocused={setFocused}
            onPick={props.onPick}
          />
        )}
      </div>
      <p className={styles.summary} data-small={height < 150 || undefined}>
        {summary}
      </p>
      <span className="visually-hidden" aria-live="polite">
        {spoken}
      </span>
    </figure>
  );
}
