import type uPlot from "uplot";
import { type Axis, axisTicks } from "./axis";
import type { Column } from "./model";
import { logTicks, valueTicks } from "./scale";

/** What is read at every drawing, so that live data, a zoom or another axis need no new plot. */
export type Live = {
  axis: Axis;
  /** Visible places on the x axis. */
  window: readonly [number, number];
  values: readonly [number, number];
  /** Place of the step the job is at. */
  current: number | null;
  /** Places at which something was changed. */
  marks: readonly number[];
  /** Places at which a problem began, and their color tokens. */
  findings: readonly { at: number; color: string }[];
  /** How a number of the value axis is written; short. */
  tick: (value: number) => string;
};

export type Look = {
  width: number;
  height: number;
  columns: readonly Column[];
  log: boolean;
  /** Key under which charts share their crosshair. */
  sync: string;
  live: () => Live;
  onCursor: (index: number | null) => void;
  onSelect: (from: number, to: number) => void;
};

const FONT = '11px "Inter Variable", system-ui, sans-serif';
/** Pixels that a name on the x axis needs: of a step, of a time or number of tokens. */
const STEP_ROOM = 44;
const TICK_ROOM = 64;
/** … and on the value axis. */
const VALUE_ROOM = 26;

const token = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function faint(color: string, share: number): string {
  return `color-mix(in srgb, ${color} ${share * 100}%, transparent)`;
}

function axes(look: Look, ink: string, line: string): uPlot.Axis[] {
  const shared = { stroke: ink, font: FONT, ticks: { show: false } };
  const most = () => {
    const room = look.live().axis.kind === "step" ? STEP_ROOM : TICK_ROOM;
    return Math.max(2, Math.min(10, Math.floor((look.width - 50) / room)));
  };
  return [
    {
      ...shared,
      size: 22,
      gap: 6,
      grid: { show: false },
      splits: () => axisTicks(look.live().axis, look.live().window, most()),
      values: (_, splits) => splits.map((x) => look.live().axis.tick(x)),
    },
    {
      ...shared,
      size: (_, names) => Math.max(42, 12 + 6.4 * Math.max(0, ...(names ?? []).map((name) => name.length))),
      gap: 6,
      grid: { stroke: line, width: 1 },
      splits: () =>
        look.log
          ? logTicks(look.live().values, Math.floor(look.height / VALUE_ROOM))
          : valueTicks(look.live().values),
      filter: (_, splits) => splits,
      values: (_, splits) =>
        splits.map((value, i) => (look.log || i % 2 === 0 ? look.live().tick(value) : "")),
    },
  ];
}

/** Label at the right end of the x axis, half of it outside. */
const lastName = ({ axis, window }: Live) => axis.tick(window[1]);

/** Points are drawn where a line cannot be: when only one step was measured. */
function alone(column: readonly (number | null | undefined)[], from: number, to: number): boolean {
  let measured = 0;
  for (let i = from; i <= to && measured < 2; i += 1) if (column[i] != null) measured += 1;
  return measured === 1;
}

/** `auto` is off: the range of the value axis is set, so that uPlot does not search a million points again. */
function series(column: Column, panel: string): uPlot.Series {
  const { role, label, dash, sparse } = column;
  const stroke = token(column.color);
  if (role === "ghost") {
    return {
      label,
      auto: false,
      stroke: faint(stroke, 0.3),
      width: 1,
      spanGaps: false,
      points: { show: false },
    };
  }
  if (role !== "line") return { label, auto: false, points: { show: false } };
  return {
    label,
    auto: false,
    stroke,
    width: sparse ? 1.4 : 1.75,
    dash: sparse ? [4, 3] : dash ? [6, 3] : [],
    spanGaps: false,
    points: sparse
      ? { show: true, size: 8, width: 2, fill: panel, stroke }
      : {
          show: (u, index, from, to) => alone(u.data[index] as (number | null)[], from, to),
          size: 5,
          fill: stroke,
        },
  };
}

/** The surfaces between columns that come as a pair: upper edge first. */
function bands(columns: readonly Column[]): uPlot.Band[] {
  return columns.flatMap(({ role, color }, i) =>
    role === "high" || role === "peak"
      ? [
          {
            series: [i + 1, i + 2] as [number, number],
            fill: faint(token(color), role === "high" ? 0.14 : 0.2),
          },
        ]
      : [],
  );
}

/** An upright line at a place inside the window. */
function upright(u: uPlot, at: number, [from, to]: Live["window"], stroke: string, dash: readonly number[]) {
  if (at < from || at > to) return;
  const x = Math.round(u.valToPos(at, "x", true)) + 0.5;
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** A dotted line at the step the job is at, so that the empty axis right of it reads as future. */
function drawCurrent(u: uPlot, { current, window }: Live, ink: string) {
  if (current !== null) upright(u, current, window, faint(ink, 0.6), [2, 3]);
}

/** Dashed lines where something was changed. */
function drawMarks(u: uPlot, { marks, window }: Live, accent: string) {
  for (const mark of marks) upright(u, mark, window, accent, [6, 3]);
}

/** Solid lines where a problem began. */
function drawFindings(u: uPlot, { findings, window }: Live) {
  for (const { at, color } of findings) upright(u, at, window, token(color), []);
}

const onlyCrosshair = (type: string) => type === "mousemove" || type === "mouseleave";

/** uPlot's options for a chart in the look of the current theme. */
export function plotOptions(look: Look): uPlot.Options {
  const [ink, grid, panel, accent] = [token("ink3"), token("line2"), token("panel"), token("accent")];
  const isLine = (index: number) => look.columns[index - 1]?.role === "line";
  return {
    width: look.width,
    height: look.height,
    padding: [6, () => 4 + 3.2 * lastName(look.live()).length, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [...look.live().window] as [number, number] },
      y: { distr: look.log ? 3 : 1, range: () => [...look.live().values] as [number, number] },
    },
    axes: axes(look, ink, grid),
    series: [{}, ...look.columns.map((column) => series(column, panel))],
    bands: bands(look.columns),
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: 4 },
      points: { size: (_, index) => (isLine(index) ? 6 : 0) },
      // A double click is the page's: it goes back through ranges that uPlot does not know.
      bind: { dblclick: () => null },
      sync: {
        key: look.sync,
        setSeries: false,
        scales: ["x", null],
        filters: { pub: onlyCrosshair, sub: onlyCrosshair },
      },
    },
    hooks: {
      draw: [
        (u) => drawCurrent(u, look.live(), ink),
        (u) => drawMarks(u, look.live(), accent),
        (u) => drawFindings(u, look.live()),
      ],
      setCursor: [(u) => look.onCursor(u.cursor.idx ?? null)],
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          if (width < 1) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          look.onSelect(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
        },
      ],
    },
  };
}
