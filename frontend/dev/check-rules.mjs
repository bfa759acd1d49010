// The page's import rules and size budget, run by `npm run check`:
//   routes → features → components → lib, api beside them; no feature imports a feature;
//   only src/api touches the network; TSX files have at most 250 lines; a folder of src/features holds at most 30 files.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const source = join(dirname(fileURLToPath(import.meta.url)), "..", "src");
const MAX_TSX_LINES = 250;
const MAX_FEATURE_FILES = 30;

/** What each layer may import. `api` may be imported for types alone by components and lib. */
const MAY_IMPORT = {
  "": ["routes", "features", "components", "api", "lib", "styles"],
  routes: ["routes", "features", "components", "api", "lib"],
  features: ["components", "api", "lib"],
  components: ["components", "lib"],
  api: ["api", "lib"],
  lib: ["lib"],
};
const TYPES_ONLY = { components: ["api"], lib: ["api"] };
const NETWORK = /\b(fetch|XMLHttpRequest|EventSource|WebSocket|sendBeacon)\s*\(/;

const problems = [];
const files = readdirSync(source, { recursive: true }).filter((name) => /\.tsx?$/.test(name));

for (const name of files) {
  const text = readFileSync(join(source, name), "utf8");
  const [layer, feature] = name.includes(sep) ? name.split(sep) : [""];
  for (const [, types, target] of text.matchAll(/(?:import|export)\s+(type\s)?[^;"']*?["']([^"']+)["']/g)) {
    const path = target.startsWith("@/")
      ? target.slice(2)
      : target.startsWith(".")
        ? relative(source, resolve(source, dirname(name), target))
        : null;
    if (path === null || path.endsWith(".css")) continue;
    const [other, otherFeature] = path.split(/[\\/]/);
    const inside = layer === "features" && other === "features" && feature === otherFeature;
    const allowed =
      inside ||
      MAY_IMPORT[layer].includes(other) ||
      (types && TYPES_ONLY[layer]?.includes(other)) ||
      other === "";
    if (!allowed) problems.push(`${name}: ${layer || "src"} may not import ${path}`);
  }
  if (layer !== "api" && NETWORK.test(text)) problems.push(`${name}: only src/api touches the network`);
  const lines = text.split("\n").length - 1;
  if (name.endsWith(".tsx") && lines > MAX_TSX_LINES)
    problems.push(`${name}: ${lines} lines, at most ${MAX_TSX_LINES}`);
}

const features = join(source, "features");
for (const name of ["", ...readdirSync(features, { recursive: true })]) {
  const folder = join(features, name);
  if (!statSync(folder).isDirectory()) continue;
  const count = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).length;
  if (count > MAX_FEATURE_FILES)
    problems.push(
      `${join("features", name)}: ${count} files, at most ${MAX_FEATURE_FILES}: a folder per screen or part`,
    );
}

for (const problem of problems) console.error(problem);
console.log(`${files.length} files, ${problems.length} broken rules`);
process.exit(problems.length ? 1 : 0);
