// Measures the page's charts in a browser: node dev/chart-bench/run.mjs [--points 1000000] [--repeats 7]
// Times are of this machine; nothing in CI depends on them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, preview } from "vite";
import { launch } from "../../e2e/browser.mjs";

const { values: options } = parseArgs({
  options: {
    points: { type: "string", default: "1500,100000,1000000" },
    repeats: { type: "string", default: "7" },
  },
});

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const root = fileURLToPath(new URL("../..", import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), "chart-bench-"));
// As it is delivered: React's development build compares every point of every property for its profiler.
const input = join(root, "dev/chart-bench/index.html");
const built = { outDir, emptyOutDir: true, rollupOptions: { input } };
await build({ root, logLevel: "error", build: built });
const server = await preview({ root, preview: { host: "127.0.0.1", port: 0 }, build: { outDir } });
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.on("pageerror", (error) => console.error(error.message));
  await page.goto(`${server.resolvedUrls.local[0]}dev/chart-bench/index.html`);
  await page.waitForFunction(() => "measure" in window, null, { timeout: 120_000 });
  for (const points of options.points.split(",").map(Number)) {
    const { found, same } = await page.evaluate(
      ([count, repeats]) => window.measure(count, repeats),
      [points, Number(options.repeats)],
    );
    for (const [name, times] of Object.entries(found)) {
      const work = median(times.map((one) => one.work)).toFixed(1);
      const frame = median(times.map((one) => one.frame)).toFixed(1);
      console.log(`${points} points, ${name}: ${work} ms of work, ${frame} ms to the frame (median)`);
    }
    console.log(
      `${points} points: the canvas at the end is ${same ? "the one" : "not the one"} from the start`,
    );
  }
} finally {
  await browser.close();
  await server.close();
  rmSync(outDir, { recursive: true });
}
