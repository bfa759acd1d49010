import { pick, type SeriesMap } from "../series";
import type { ChartDef, ChartGroup } from "./charts";
import { HEADLINE } from "./charts";

/** Ids of charts that repeat another for 0/1 rewards. */
const MAY_REPEAT: Readonly<Record<string, string>> = { "best-at-k": "pass-at-k" };
/** From this step on a line that has not moved is taken to be constant. */
export const ENOUGH_STEPS = 5;

const valuesOf = (series: SeriesMap, key: string) =>
  (pick(series, key)?.values ?? []).filter((value): value is number => value !== null);

/** Whether there is nothing to see: no line was measured, or all are constant or negligible. */
export function isQuiet(def: ChartDef, series: SeriesMap): boolean {
  return def.lines.every(({ key }) => {
    const values = valuesOf(series, key);
    const { calm } = def;
    return (
      values.every((value) => value === values[0]) ||
      (calm !== undefined && values.every((value) => Math.abs(value) < calm.below))
    );
  });
}

/** The groups without charts whose lines are those of another chart. */
export function withoutRepeated(groups: readonly ChartGroup[], series: SeriesMap): ChartGroup[] {
  const charts = new Map(groups.flatMap((group) => group.charts.map((def) => [def.id, def])));
  const repeats = (def: ChartDef) => {
    const other = charts.get(MAY_REPEAT[def.id] ?? "");
    return (
      other !== undefined &&
      def.lines.every(({ key, label }) => {
        const twin = other.lines.find((line) => line.label === label);
        const [own, others] = [valuesOf(series, key), twin ? valuesOf(series, twin.key) : []];
        return own.length === others.length && own.every((value, at) => value === others[at]);
      })
    );
  };
  return groups.flatMap((group) => {
    const rest = group.charts.filter((def) => !repeats(def));
    return rest.length > 0 ? [{ ...group, charts: rest }] : [];
  });
}

/** Title of the section for charts that came while the page was open. */
export const LATE = "New charts";

/** Charts that `places` has, as they are there; what was measured later follows in a section of its own. */
export function inPlace(
  all: readonly ChartGroup[],
  places: ReadonlySet<string>,
  series: SeriesMap,
): ChartGroup[] {
  const placed = all.flatMap((group) => {
    const charts = group.charts.filter(({ id }) => group.title === HEADLINE || places.has(id));
    return charts.length > 0 ? [{ ...group, charts }] : [];
  });
  const late = withoutRepeated(all, series)
    .filter(({ title }) => title !== HEADLINE)
    .flatMap(({ charts }) => charts.filter(({ id }) => !places.has(id)));
  return late.length > 0 ? [...placed, { title: LATE, charts: late }] : placed;
}

export type Arrangement = { pinned: ChartDef[]; groups: ChartGroup[]; quiet: ChartDef[] };

/** Pinned charts first, then the groups without them, then the quiet ones; the headline keeps its place. */
export function arranged(
  groups: readonly ChartGroup[],
  pins: readonly string[],
  quiet: ReadonlySet<string>,
): Arrangement {
  const movable = groups.filter(({ title }) => title !== HEADLINE).flatMap(({ charts }) => charts);
  const isPinned = (def: ChartDef) => pins.includes(def.id);
  return {
    pinned: pins.flatMap((id) => movable.find((def) => def.id === id) ?? []),
    groups: groups.flatMap((group) => {
      const rest =
        group.title === HEADLINE
          ? group.charts
          : group.charts.filter((def) => !isPinned(def) && !quiet.has(def.id));
      return rest.length > 0 ? [{ ...group, charts: rest }] : [];
    }),
    quiet: movable.filter((def) => quiet.has(def.id) && !isPinned(def)),
  };
}
