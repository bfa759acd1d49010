import { useThrottledValue } from "@mantine/hooks";
import { type CSSProperties, lazy, Suspense, useMemo, useRef, useState } from "react";
import { count, number, tick } from "@/lib/format";
import { Help } from "../Help";
import styles from "./Chart.module.css";
import { ChartTable } from "./ChartTable";
import { fileName, save, toCsv, toPicture } from "./export";
import { Legend, type Mark } from "./Legend";
import { type ChartBand, type ChartLine, drawingOf, within } from "./model";
import { logRange, valueRange } from "./scale";
import { smoothUnit } from "./smooth";
import { type FindingMark, useChartSpace } from "./space";
import { Tools } from "./Tools";
import { useNear } from "./use-near";

/** Fetched beside the data, not after them. */
const plot = import("./Plot");
const Plot = lazy(() => plot);

type Props = {
  title: string;
  unit: string;
  lines: readonly ChartLine[];
  band?: ChartBand | undefined;
  min?: number | undefined;
  max?: number | undefined;
  height?: number;
  format?: ((value: number) => string) | undefined;
  /** Numbers of the value axis, where `format` is too long for it. */
  tick?: ((value: number) => string) | undefined;
  /** One sentence in words: what the curve does. */
  summary: string;
  /** Where problems began that this chart shows; the summary names them. */
  findings?: readonly FindingMark[];
  /** What the metric means, and where the guide says more. */
  help?: { text: string; guide: string } | undefined;
  log?: boolean;
  onLog?: (() => void) | undefined;
  onMaximise?: (() => void) | undefined;
  pin?: { isPinned: boolean; onToggle: () => void } | undefined;
  /** False where the screen has one legend for all charts. */
  legend?: boolean;
};

const SMALL = 150;
/** Rows that are kept free for the sentence of so many lines, so that nothing moves when it grows. */
const SENTENCE_ROWS = { small: [2, 2, 3, 4], large: [1, 1, 2, 3] };
const NO_LABELS: ReadonlySet<string> = new Set();
const NO_FINDINGS: readonly FindingMark[] = [];

/**
 * Curves over steps, time or tokens as a figure: title, unit, legend with the values under the crosshair, plot or
 * table, sentence. Axis, range, smoothing and crosshair come from the `ChartSpace` around it.
 */
export function Chart(props: Props) {
  const { title, unit, lines, band, height = 168, format = number, summary, min, max } = props;
  const space = useChartSpace();
  const { axis, range, lastStep, smoothing } = space;
  const log = space.log || (props.log ?? false);
  const figure = useRef<HTMLElement>(null);
  const near = useNear(figure);
  const [asTable, setAsTable] = useState(false);
  const [index, setIndex] = useState<number | null>(null);
  const [focused, setFocused] = useState(false);
  const [hidden, setHidden] = useState(NO_LABELS);

  const unitSteps = smoothUnit(space.allSteps ?? lastStep);
  const drawing = useMemo(
    () => drawingOf({ band, lines, hidden, smoothing, smoothUnit: unitSteps, log }),
    [band, lines, hidden, smoothing, unitSteps, log],
  );
  const { steps, columns, cells } = drawing;
  const places = useMemo(() => (axis.kind === "step" ? steps : steps.map(axis.at)), [axis, steps]);
  const values = useMemo(() => {
    const visible = within(steps, range);
    return log ? logRange(cells, visible) : valueRange(cells, visible, { min, max });
  }, [steps, cells, range, log, min, max]);

  const step = index === null ? undefined : steps[index];
  const place = index === null ? undefined : places[index];
  const readout = (at: number) => {
    const value = index === null ? undefined : cells[at]?.[index];
    return value === null || value === undefined ? "" : format(value);
  };
  const sayBand = (at: number) => {
    const [high, low] = index === null ? [] : [cells[at]?.[index], cells[at + 1]?.[index]];
    return typeof low === "number" && typeof high === "number" ? (band?.say?.(low, high) ?? "") : "";
  };
  /** Values as measured: of a smoothed line those of the ghost behind it. */
  const marks: Mark[] = columns.flatMap(({ role, label, color, dash, sparse }, at): Mark[] => {
    const pair = readout(at + 1) && `${readout(at + 1)}–${readout(at)}`;
    if (role === "high") return [{ label, color, kind: "band", value: band?.say ? sayBand(at) : pair }];
    if (role === "peak") return [{ label, color, kind: "span", value: pair }];
    if (role !== "line") return [];
    const measured = columns[at - 1]?.role === "ghost" ? at - 1 : at;
    return [{ label, color, kind: sparse ? "sparse" : dash ? "dash" : "line", value: readout(measured) }];
  });
  const entries = marks.filter(
    (mark, at) => mark.color !== "c0" && marks.findIndex((one) => one.label === mark.label) === at,
  );
  const where =
    step === undefined || place === undefined
      ? undefined
      : axis.kind === "step"
        ? `step ${step}`
        : `${axis.say(place)} · step ${step}`;
  const spoken = useThrottledValue(
    where && focused
      ? `${where}: ${entries.flatMap((mark) => (mark.value ? [`${mark.label} ${mark.value}`] : [])).join(", ")}`
      : "",
    1000,
  );

  const toggle = (label: string) => {
    const next = new Set(hidden);
    if (!next.delete(label)) next.add(label);
    setHidden(next);
  };
  const name = fileName(space.name, title);
  const csv = () => {
    const x =
      axis.kind === "step" ? undefined : { name: axis.kind === "time" ? "seconds" : "tokens", places };
    save(new Blob([toCsv(drawing, range, x)], { type: "text/csv" }), `${name}.csv`);
  };
  const picture = () => {
    const plot = figure.current?.querySelector("canvas");
    if (!plot) return;
    const color = (mark: Mark) =>
      getComputedStyle(document.documentElement).getPropertyValue(`--${mark.color}`).trim();
    const legend = entries
      .filter((mark) => !hidden.has(mark.label))
      .map((mark) => ({
        label: mark.label,
        color: color(mark),
        dashed: mark.kind === "dash",
        marker: mark.kind === "sparse",
        surface: mark.kind === "band" || mark.kind === "span",
      }));
    toPicture({ plot, title, unit, summary, legend }).toBlob((blob) => blob && save(blob, `${name}.png`));
  };

  const unshown =
    drawing.unshown > 0 ? ` ${count(drawing.unshown, "value")} of 0 or below not shown on the log axis.` : "";
  const sentence = summary + unshown;
  const rows = SENTENCE_ROWS[height < SMALL ? "small" : "large"][Math.min(lines.length, 3)];
  return (
    <figure className={styles.figure} data-live={space.live} ref={figure}>
      <figcaption className={styles.caption}>
        <h3>{title}</h3>
        {props.help && <Help title={title} {...props.help} />}
        <span className={styles.unit} data-step={where ? true : undefined} title={unit}>
          {where ?? (log ? `${unit}, log` : unit)}
        </span>
        <Tools
          title={title}
          asTable={asTable}
          onTable={() => setAsTable(!asTable)}
          log={log}
          onLog={space.log ? undefined : props.onLog}
          onMaximise={props.onMaximise}
          pin={props.pin}
          onCsv={csv}
          onPicture={picture}
        />
      </figcaption>
      {props.legend !== false && (
        <Legend
          marks={entries}
          hidden={hidden}
          onToggle={toggle}
          terse={step !== undefined && entries.length > 1}
        />
      )}
      <div style={{ minHeight: height }}>
        {asTable && (
          <ChartTable
            caption={title}
            drawing={drawing}
            range={range}
            x={
              axis.kind === "step"
                ? undefined
                : { name: axis.kind, say: (at) => axis.say(places[at] as number) }
            }
            height={height}
            format={format}
          />
        )}
        {!asTable && near && (
          <Suspense fallback={null}>
            <Plot
              drawing={drawing}
              places={places}
              values={values}
              log={log}
              height={height}
              tick={props.tick ?? tick}
              findings={props.findings ?? NO_FINDINGS}
              label={`${title}: ${sentence} Use the arrow keys to read single points.`}
              onCursor={setIndex}
              onFocused={setFocused}
            />
          </Suspense>
        )}
      </div>
      <p className={styles.summary} style={{ "--rows": rows } as CSSProperties} title={sentence}>
        {sentence}
      </p>
      <span className="visually-hidden" aria-live="polite">
        {spoken}
      </span>
    </figure>
  );
}
