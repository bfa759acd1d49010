import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useRef } from "react";
import uPlot, { type AlignedData } from "uplot";
import type { ChartBand, ChartLine } from "./model";
import { plotOptions } from "./options";

type Props = {
  data: AlignedData;
  band: ChartBand | undefined;
  lines: readonly ChartLine[];
  steps: [number, number];
  values: [number, number];
  current: number | null;
  height: number;
  tick: (value: number) => string;
  sync: string | undefined;
  label: string;
  onCursor: (index: number | null) => void;
  onFocused: (focused: boolean) => void;
  onPick: ((step: number) => void) | undefined;
};

/** The canvas of a chart. The plot is made once per size, theme and set of series; live data only calls `setData`. */
export function Plot(props: Props) {
  const { data, band, lines, height, sync } = props;
  const { ref: sized, width } = useElementSize<HTMLDivElement>();
  const box = useRef<HTMLDivElement>(null);
  const ref = useMergedRef(sized, box);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const scheme = useComputedColorScheme("light");
  const shape = JSON.stringify([
    band?.color,
    lines.map((line) => [line.label, line.color, line.dash, line.sparse]),
  ]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: shape and scheme stand for what the options are made of
  useEffect(() => {
    const parent = box.current;
    if (!parent || width === 0) return;
    const options = plotOptions({
      width,
      height,
      band,
      lines,
      sync,
      tick: (value) => latest.current.tick(value),
      ranges: () => latest.current,
      onCursor: (index) => latest.current.onCursor(index),
    });
    plot.current = new uPlot(options, latest.current.data, parent);
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width, height, shape, scheme, sync]);

  useEffect(() => {
    if (plot.current && plot.current.data !== data) plot.current.setData(data);
  }, [data]);

  const moveTo = (index: number) => {
    const u = plot.current;
    const steps = latest.current.data[0];
    const step = steps[Math.max(0, Math.min(steps.length - 1, index))];
    if (u && step !== undefined) u.setCursor({ left: u.valToPos(step, "x"), top: 0 });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const last = data[0].length - 1;
    const at = plot.current?.cursor.idx ?? last;
    const moves: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
    const target = moves[event.key];
    if (target !== undefined) {
      event.preventDefault();
      moveTo(target);
    } else if (event.key === "Enter") {
      const step = data[0][at];
      if (step !== undefined) props.onPick?.(step);
    }
  };

  const onClick = () => {
    const index = plot.current?.cursor.idx;
    const step = index === null || index === undefined ? undefined : data[0][index];
    if (step !== undefined) props.onPick?.(step);
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: the canvas is drawn into it; the table beside it holds the numbers
    <div
      ref={ref}
      role="group"
      aria-label={props.label}
      tabIndex={0}
      style={{ height, cursor: props.onPick ? "pointer" : "default" }}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onFocus={() => {
        props.onFocused(true);
        moveTo(data[0].length - 1);
      }}
      onBlur={() => props.onFocused(false)}
    />
  );
}
