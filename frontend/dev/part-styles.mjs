// Fails when the build uses a part of Mantine whose styles it does not have: src/styles/mantine-parts.css imports them
// one by one, because all of them are twice as large. Run by `npm run build`.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2] ?? "dist";
const styles = join("node_modules", "@mantine", "core", "styles");
const CLASS = /\bm_[0-9a-f]{6,8}\b/g;

const classes = (text) => new Set(text.match(CLASS));
const built = (ending) =>
  readdirSync(join(folder, "assets"))
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, "assets", name), "utf8"))
    .join("\n");

const used = classes(built(".js"));
const styled = classes(built(".css"));
const missing = readdirSync(styles)
  .filter((name) => name.endsWith(".css") && !name.includes(".layer"))
  .filter((name) =>
    [...classes(readFileSync(join(styles, name), "utf8"))].some((one) => used.has(one) && !styled.has(one)),
  );

if (used.size === 0) throw new Error("no classes of Mantine in the build: has their form changed?");
for (const name of missing)
  console.error(`src/styles/mantine-parts.css: add @import "@mantine/core/styles/${name}";`);
process.exit(missing.length > 0 ? 1 : 0);
