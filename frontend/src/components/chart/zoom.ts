/** Steps from, to; both inside. */
export type Range = readonly [number, number];

/** Where the reader is, and the ranges to go back through. */
export type Zoom = { range: Range | null; back: readonly (Range | null)[] };

const LEAST = 1;
const MOST_BACK = 50;

/** A range in whole steps inside 0 … last, at least a step wide; null when it is all of them. */
export function clamp([from, to]: Range, last: number): Range | null {
  const low = Math.max(0, Math.min(Math.floor(from), last - LEAST));
  const high = Math.min(last, Math.max(Math.ceil(to), low + LEAST));
  return low <= 0 && high >= last ? null : [low, high];
}

const equal = (a: Range | null, b: Range | null) => a === b || (a?.[0] === b?.[0] && a?.[1] === b?.[1]);

export function zoomTo(zoom: Zoom, range: Range | null): Zoom {
  if (equal(zoom.range, range)) return zoom;
  return { range, back: [...zoom.back, zoom.range].slice(-MOST_BACK) };
}

/** One range back; from a range that came with the address, to all steps. */
export function zoomBack(zoom: Zoom): Zoom {
  return { range: zoom.back.at(-1) ?? null, back: zoom.back.slice(0, -1) };
}

/** Half as wide (or twice, with a factor of 2) around a step. */
export function around(range: Range | null, step: number, factor: number, last: number): Range | null {
  const [from, to] = range ?? [0, last];
  const share = (step - from) / Math.max(1, to - from);
  const width = Math.max(LEAST, (to - from) * factor);
  return clamp([Math.round(step - share * width), Math.round(step + (1 - share) * width)], last);
}
