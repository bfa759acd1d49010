import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import { roundUp } from "./axis";
import { type Drawing, plotData, within } from "./model";
import { type Live, plotOptions } from "./options";
import { type FindingMark, useChartSpace } from "./space";
import { around } from "./zoom";

type Props = {
  drawing: Drawing;
  /** Places of the drawing's steps on the x axis. */
  places: readonly number[];
  values: readonly [number, number];
  log: boolean;
  height: number;
  tick: (value: number) => string;
  findings: readonly FindingMark[];
  label: string;
  onCursor: (index: number | null) => void;
  onFocused: (focused: boolean) => void;
};

/** A second click within this time makes it a double click, which resets the zoom instead. */
const DOUBLE_CLICK_MS = 260;

/**
 * The canvas of a chart. The plot is made once per size, theme and set of columns; live data, a zoom and another axis
 * only call `setData`.
 */
export default function Plot(props: Props) {
  const { drawing, places, values, log, height } = props;
  const space = useChartSpace();
  const { axis, range, lastStep } = space;
  const { ref: sized, width } = useElementSize<HTMLDivElement>();
  const box = useRef<HTMLDivElement>(null);
  const ref = useMergedRef(sized, box);
  const plot = useRef<uPlot | null>(null);
  const painted = useRef("");
  const click = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** Cursor position of the keyboard; a new plot restores it. */
  const pinned = useRef<number | null>(null);
  const scheme = useComputedColorScheme("light");
  const data = useMemo(() => plotData(places, drawing), [places, drawing]);

  const left = axis.at(range?.[0] ?? 0);
  const end = axis.at(range?.[1] ?? lastStep);
  const guessed = axis.kind !== "step" && range === null && space.current !== null;
  const right = Math.max(guessed ? roundUp(end) : end, left + 1e-6);
  const current = space.current === null ? null : axis.at(space.current);
  const marks = (space.marks ?? []).map(axis.at);
  const findings = props.findings.map(({ step, color }) => ({ at: axis.at(step), color }));
  const live: Live = { axis, window: [left, right], values, current, marks, findings, tick: props.tick };
  const latest = useRef({ ...props, live, data, space });
  latest.current = { ...props, live, data, space };
  const restore = useRef(() => {});
  const shape = JSON.stringify(drawing.columns);
  const frame = [
    axis.kind,
    left,
    right,
    values[0],
    values[1],
    current,
    ...marks,
    JSON.stringify(findings),
  ].join(" ");

  // biome-ignore lint/correctness/useExhaustiveDependencies: shape and scheme stand for what the options are made of
  useEffect(() => {
    const parent = box.current;
    if (!parent || width === 0) return;
    const options = plotOptions({
      width,
      height,
      columns: drawing.columns,
      log,
      sync: space.sync,
      live: () => latest.current.live,
      onCursor: (index) => latest.current.onCursor(index),
      onSelect: (from, to) => {
        const now = latest.current.space;
        now.onZoom([now.axis.stepAt(from), now.axis.stepAt(to)]);
      },
    });
    plot.current = new uPlot(options, latest.current.data, parent);
    painted.current = frame;
    const drawn = requestAnimationFrame(() => restore.current());
    return () => {
      cancelAnimationFrame(drawn);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width, height, shape, scheme, log, space.sync]);

  useEffect(() => {
    const made = plot.current;
    if (!made || (made.data === data && painted.current === frame)) return;
    painted.current = frame;
    made.setData(data);
  }, [data, frame]);

  useEffect(() => () => clearTimeout(click.current), []);

  const moveTo = (index: number) => {
    const [first, last] = within(drawing.steps, range);
    pinned.current = Math.max(first, Math.min(last, index));
    const place = places[pinned.current];
    const u = plot.current as
      | (uPlot & { setCursor: (at: object, fire: boolean, share: boolean) => void })
      | null;
    if (u && place !== undefined) u.setCursor({ left: u.valToPos(place, "x"), top: 0 }, true, true);
  };

  restore.current = () => {
    if (pinned.current !== null) moveTo(pinned.current);
  };

  const stepAt = (index: number | null | undefined) =>
    index === null || index === undefined ? undefined : drawing.steps[index];

  const onKeyDown = (event: KeyboardEvent) => {
    const [first, last] = within(drawing.steps, range);
    const at = plot.current?.cursor.idx ?? pinned.current ?? last;
    const page = Math.max(1, Math.round((last - first) / 10));
    const moves: Record<string, number> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      PageUp: at - page,
      PageDown: at + page,
      Home: first,
      End: last,
    };
    const target = moves[event.key];
    const step = stepAt(at);
    if (target !== undefined) moveTo(target);
    else if (event.key === "Enter" && step !== undefined) space.onPick?.(step);
    else if ((event.key === "+" || event.key === "=") && step !== undefined) {
      const closer = around(range, step, 0.5, lastStep);
      if (closer) space.onZoom(closer);
    } else return;
    event.preventDefault();
  };

  const onClick = () => {
    const step = stepAt(plot.current?.cursor.idx);
    if (step === undefined || !space.onPick) return;
    clearTimeout(click.current);
    const pick = space.onPick;
    if (range) click.current = setTimeout(() => pick(step), DOUBLE_CLICK_MS);
    else pick(step);
  };

  const onDoubleClick = () => {
    clearTimeout(click.current);
    space.onReset();
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: the canvas is drawn into it; the table beside it holds the numbers
    <div
      ref={ref}
      role="group"
      aria-label={props.label}
      tabIndex={0}
      style={{ height, cursor: space.onPick ? "pointer" : "crosshair" }}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onDoubleClick={onDoubleClick}
      onFocus={() => {
        props.onFocused(true);
        if (plot.current?.cursor.idx == null) moveTo(drawing.steps.length - 1);
      }}
      onBlur={() => {
        pinned.current = null;
        props.onFocused(false);
      }}
    />
  );
}
