import { createContext, useContext } from "react";
import { type Axis, STEPS } from "./axis";
import type { Range } from "./zoom";

/** A line in one chart, where a problem began. */
export type FindingMark = {
  step: number;
  title: string;
  /** Name of a color token. */
  color: "bad" | "warn" | "ink3";
};

/** What the charts of a screen share: the axis, the visible range, how lines are drawn, the crosshair. */
export type ChartSpace = {
  axis: Axis;
  /** Last step of the axis; steps that are still to come stay empty. */
  lastStep: number;
  /** The step at which the axis will end, where that is a later one: what smoothing goes by. */
  allSteps?: number | undefined;
  /** The step the job is at, while it is under way. */
  current: number | null;
  /** Steps are still to come: what changes with them has a fixed size. */
  live?: boolean | undefined;
  range: Range | null;
  /** Steps at which something was changed, marked in every chart. */
  marks?: readonly number[] | undefined;
  smoothing: number;
  log: boolean;
  /** Key under which charts share their crosshair. */
  sync: string;
  /** First part of the names of files. */
  name: string;
  onZoom: (range: Range) => void;
  /** One range back. */
  onBack: () => void;
  /** All steps. */
  onReset: () => void;
  onPick?: ((step: number) => void) | undefined;
};

const nothing = () => {};

const Space = createContext<ChartSpace>({
  axis: STEPS,
  lastStep: 1,
  current: null,
  range: null,
  smoothing: 0,
  log: false,
  sync: "charts",
  name: "chart",
  onZoom: nothing,
  onBack: nothing,
  onReset: nothing,
});

export const ChartSpaceProvider = Space.Provider;
export const useChartSpace = () => useContext(Space);
