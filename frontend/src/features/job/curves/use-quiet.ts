import { useMemo, useState } from "react";
import type { SeriesMap } from "../series";
import type { ChartGroup } from "./charts";
import { ENOUGH_STEPS, inPlace, isQuiet, withoutRepeated } from "./quiet";

const NONE: ReadonlySet<string> = new Set();

/**
 * Ids of the charts that were quiet when the data came; undefined before. They stay so while the page is open: a
 * chart that wakes up or falls asleep must not move what somebody reads.
 */
export function useQuiet(
  groups: readonly ChartGroup[],
  series: SeriesMap,
  step: number,
  state: { ready: boolean; ended: boolean },
): ReadonlySet<string> | undefined {
  const [quiet, setQuiet] = useState<ReadonlySet<string>>();
  if (quiet === undefined && state.ready) {
    const enough = step >= ENOUGH_STEPS || (state.ended && step > 0);
    const charts = groups.flatMap((group) => group.charts);
    setQuiet(enough ? new Set(charts.filter((def) => isQuiet(def, series)).map(({ id }) => id)) : NONE);
  }
  return quiet;
}

/** The charts in their sections, each where it was when the first steps came: a new one moves none of them. */
export function usePlaces(
  all: readonly ChartGroup[],
  series: SeriesMap,
  { step, ready }: { step: number; ready: boolean },
): readonly ChartGroup[] {
  const [places, setPlaces] = useState<ReadonlySet<string>>();
  const groups = useMemo(
    () => (places ? inPlace(all, places, series) : withoutRepeated(all, series)),
    [all, places, series],
  );
  if (places === undefined && ready && step > 0) {
    setPlaces(new Set(groups.flatMap((group) => group.charts.map(({ id }) => id))));
  }
  return groups;
}
