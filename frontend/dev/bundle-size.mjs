// Fails when a screen that people open first loads more JavaScript and CSS, gzipped, than it may: the entry, the
// screen's own module, and everything both import before they run. The font (48 KB), the responses of the API (some
// 5 KB) and the headers of 80 requests (25 KB) have the rest of 330 KB, which tests/e2e/test_7_page.py measures in a
// browser. Run by `npm run build` on what it wrote; sizes only, never seconds. `--all` prints what each file weighs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** Bytes by screen. */
const LIMITS = {
  "src/routes/start.tsx": 220_000,
  "src/routes/jobs.tsx": 246_000,
  "src/routes/sign-in.tsx": 200_000,
};
const ENTRY = "index.html";

const arguments_ = process.argv.slice(2);
const folder = arguments_.find((one) => !one.startsWith("-")) ?? "dist";
const manifest = JSON.parse(readFileSync(join(folder, ".vite", "manifest.json"), "utf8"));
const page = readFileSync(join(folder, ENTRY), "utf8");

/** Every file that must be there before the modules run. */
function needed(keys) {
  const files = new Set();
  const seen = new Set();
  const visit = (key) => {
    if (seen.has(key)) return;
    seen.add(key);
    const chunk = manifest[key];
    if (!chunk) throw new Error(`${key} is not in the build: change LIMITS`);
    files.add(chunk.file);
    for (const css of chunk.css ?? []) files.add(css);
    for (const other of chunk.imports ?? []) visit(other);
  };
  for (const key of keys) visit(key);
  // What index.html asks for by itself: scripts, style sheets, preloads.
  for (const [, file] of page.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)) files.add(file);
  return [...files];
}

const gzipped = (file) => gzipSync(readFileSync(join(folder, file)), { level: 9 }).length;
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

let failed = false;
for (const [screen, limit] of Object.entries(LIMITS)) {
  const files = needed([ENTRY, screen]).map((file) => [file, gzipped(file)]);
  const total = files.reduce((sum, [, size]) => sum + size, 0);
  const verdict = total <= limit ? "" : ` is over the limit of ${kilobytes(limit)}`;
  failed ||= total > limit;
  console.log(`first load of ${screen}: ${kilobytes(total)} gzipped in ${files.length} files${verdict}`);
  if (!arguments_.includes("--all") && total <= limit) continue;
  for (const [file, size] of files.sort((a, b) => b[1] - a[1])) console.log(`  ${kilobytes(size)}  ${file}`);
}
process.exit(failed ? 1 : 0);
