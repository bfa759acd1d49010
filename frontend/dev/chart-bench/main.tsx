// Draws the page's own Chart with as many points as asked for and measures it; driven by run.mjs.
import { MantineProvider } from "@mantine/core";
import "@mantine/core/styles.css";
import { useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { STEPS } from "../../src/components/chart/axis";
import { Chart } from "../../src/components/chart/Chart";
import type { ChartLine } from "../../src/components/chart/model";
import { ChartSpaceProvider } from "../../src/components/chart/space";
import type { Range } from "../../src/components/chart/zoom";
import "../../src/styles/base.css";
import "../../src/styles/tokens.css";

type Scene = { lines: readonly ChartLine[]; smoothing: number; range: Range | null; last: number };

const scene = (points: number): Scene => {
  const steps = Array.from({ length: points }, (_, i) => i + 1);
  const values = steps.map((step) => 0.5 + 0.4 * Math.sin(step / 9000) + 0.1 * Math.random());
  const lines = [{ label: "mean", color: "c1" as const, source: { steps, values } }];
  return { lines, smoothing: 0, range: null, last: points + 1000 };
};

/** One more step, as the live stream brings it: new arrays, because the old ones belong to the cache. */
function grown(from: Scene): Scene {
  const lines = from.lines.map((line) => {
    const { steps, values } = line.source ?? { steps: [], values: [] };
    return {
      ...line,
      source: { steps: [...steps, steps.length + 1], values: [...values, Math.random()] },
    };
  });
  return { ...from, lines };
}

let show: (next: Scene) => void = () => {};
const nothing = () => {};

function Bench({ first }: { first: Scene }) {
  const [{ lines, smoothing, range, last }, set] = useState(first);
  show = set;
  const space = { axis: STEPS, lastStep: last, current: null, range, smoothing, log: false };
  const acts = { sync: "bench", name: "bench", onZoom: nothing, onBack: nothing, onReset: nothing };
  return (
    <ChartSpaceProvider value={{ ...space, ...acts }}>
      <Chart title="Reward" unit="per step" lines={lines} summary="Measured." height={190} />
    </ChartSpaceProvider>
  );
}

const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

/** Milliseconds of work on the main thread, and until the frame that shows it is done. */
async function timed(act: () => void): Promise<{ work: number; frame: number }> {
  await frame();
  const start = performance.now();
  flushSync(act);
  await Promise.resolve();
  const work = performance.now() - start;
  await frame();
  return { work, frame: performance.now() - start };
}

async function measure(points: number, repeats: number) {
  const container = document.createElement("div");
  document.getElementById("root")?.replaceChildren(container);
  const root = createRoot(container);
  let now = scene(points);
  root.render(
    <MantineProvider>
      <Bench first={now} />
    </MantineProvider>,
  );
  while (!container.querySelector("canvas")) await frame();
  const canvas = container.querySelector("canvas");
  const found: Record<string, { work: number; frame: number }[]> = {};
  const note = async (name: string, next: Scene) => {
    now = next;
    const one = await timed(() => show(next));
    found[name] = [...(found[name] ?? []), one];
  };
  for (let i = 0; i < repeats; i += 1) {
    await note("one more point", grown(now));
    await note("zoom to a hundredth", { ...now, range: [points / 2, points / 2 + points / 100] });
    await note("zoom back", { ...now, range: null });
  }
  const same = canvas === container.querySelector("canvas");
  await note("smoothing on", { ...now, smoothing: 0.9 });
  for (let i = 0; i < repeats; i += 1) await note("one more point, smoothed", grown(now));
  root.unmount();
  return { found, same };
}

Object.assign(window, { measure });
