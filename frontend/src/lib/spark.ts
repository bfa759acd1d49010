/** The geometry of small curves: from points to an SVG path. */

export type Curve = { steps: readonly number[]; values: readonly (number | null)[] };
type Frame = { steps: number; width: number; height: number; margin: number };

const measured = (curve: Curve | undefined) =>
  (curve?.steps ?? []).flatMap((step, i) => {
    const value = curve?.values[i];
    return value === null || value === undefined || !Number.isFinite(value) ? [] : [[step, value] as const];
  });

const round = (value: number) => Math.round(value * 10) / 10;

/**
 * A line through the first curve and dots for the second, both on one scale that includes 0 and 1, so that pictures
 * above each other compare and a live one does not change its scale. A step without a value breaks the line: nothing
 * is drawn that was not measured. The x axis reaches to the job's last step.
 */
export function sparkPaths(
  line: Curve | undefined,
  dots: Curve | undefined,
  { steps, width, height, margin }: Frame,
): { line: string; dots: [number, number][] } {
  const all = [...measured(line), ...measured(dots)];
  const top = all.reduce((most, [, value]) => Math.max(most, value), 1);
  const bottom = all.reduce((least, [, value]) => Math.min(least, value), 0);
  const last = all.reduce((most, [step]) => Math.max(most, step), Math.max(1, steps));
  const x = (step: number) => round(margin + (step / last) * (width - 2 * margin));
  const y = (value: number) =>
    round(height - margin - ((value - bottom) / (top - bottom)) * (height - 2 * margin));
  let path = "";
  let pen = false;
  line?.steps.forEach((step, i) => {
    const value = line.values[i];
    if (value === null || value === undefined || !Number.isFinite(value)) {
      pen = false;
      return;
    }
    path += `${pen ? "L" : "M"}${x(step)} ${y(value)}`;
    pen = true;
  });
  return { line: path, dots: measured(dots).map(([step, value]) => [x(step), y(value)]) };
}
