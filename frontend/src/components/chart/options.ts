import type uPlot from "uplot";
import type { ChartBand, ChartLine } from "./model";

export type Look = {
  width: number;
  height: number;
  band: ChartBand | undefined;
  lines: readonly ChartLine[];
  /** How a number of the value axis is written; short. */
  tick: (value: number) => string;
  /** Key under which charts share their crosshair. */
  sync: string | undefined;
  /** Read at every drawing, so that live data needs no new plot. */
  ranges: () => { steps: [number, number]; values: [number, number]; current: number | null };
  onCursor: (index: number | null) => void;
};

const FONT = '11px "Inter Variable", system-ui, sans-serif';

const token = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function faint(color: string, share: number): string {
  return `color-mix(in srgb, ${color} ${share * 100}%, transparent)`;
}

/** Three or four whole steps from 0 to the last one, the last always named. */
export function stepTicks(last: number): number[] {
  const raw = last / 3;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
  const gap = Math.max(1, ([1, 2, 2.5, 5, 10].find((n) => n * power >= raw) ?? 10) * power);
  const ticks: number[] = [];
  for (let at = 0; at < last - gap * 0.4; at += gap) ticks.push(Math.round(at));
  return [...ticks, last];
}

function axes(look: Look, ink: string, line: string): uPlot.Axis[] {
  const shared = { stroke: ink, font: FONT, ticks: { show: false } };
  return [
    {
      ...shared,
      size: 22,
      gap: 6,
      grid: { show: false },
      splits: () => stepTicks(look.ranges().steps[1]),
      values: (_, splits) => splits.map(String),
    },
    {
      ...shared,
      size: 42,
      gap: 6,
      grid: { stroke: line, width: 1 },
      splits: () => {
        const [low, high] = look.ranges().values;
        return [0, 0.25, 0.5, 0.75, 1].map((share) => low + (high - low) * share);
      },
      values: (_, splits) => splits.map((value, i) => (i % 2 === 0 ? look.tick(value) : "")),
    },
  ];
}

function line(one: ChartLine, panel: string): uPlot.Series {
  const stroke = token(one.color);
  return {
    label: one.label,
    stroke,
    width: one.sparse ? 1.4 : 2,
    dash: one.sparse ? [4, 3] : one.dash ? [6, 3] : [],
    spanGaps: false,
    points: one.sparse
      ? { show: true, size: 8, width: 2, fill: panel, stroke }
      : {
          show: (u, index, from, to) => alone(u.data[index] as (number | null)[], from, to),
          size: 5,
          fill: stroke,
        },
  };
}

/** Points are drawn where a line cannot be: when only one step was measured. */
function alone(column: readonly (number | null)[], from: number, to: number): boolean {
  let measured = 0;
  for (let i = from; i <= to && measured < 2; i += 1) if (column[i] != null) measured += 1;
  return measured === 1;
}

/** A dotted line at the step the job is at, so that the empty axis right of it reads as future. */
function drawCurrent(u: uPlot, step: number | null, ink: string) {
  if (step === null) return;
  const x = Math.round(u.valToPos(step, "x", true)) + 0.5;
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = faint(ink, 0.6);
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** uPlot's options for a chart in the look of the current theme. */
export function plotOptions(look: Look): uPlot.Options {
  const [ink, grid, panel] = [token("ink3"), token("line2"), token("panel")];
  const edges: uPlot.Series[] = look.band
    ? [
        { label: `${look.band.label} high`, points: { show: false } },
        { label: `${look.band.label} low`, points: { show: false } },
      ]
    : [];
  return {
    width: look.width,
    height: look.height,
    padding: [6, 8, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => look.ranges().steps },
      y: { range: () => look.ranges().values },
    },
    axes: axes(look, ink, grid),
    series: [{}, ...edges, ...look.lines.map((one) => line(one, panel))],
    bands: look.band ? [{ series: [1, 2], fill: faint(token(look.band.color), 0.14) }] : [],
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 6 },
      sync: look.sync ? { key: look.sync, setSeries: false } : undefined,
    },
    hooks: {
      draw: [(u) => drawCurrent(u, look.ranges().current, ink)],
      setCursor: [(u) => look.onCursor(u.cursor.idx ?? null)],
    },
  };
}
