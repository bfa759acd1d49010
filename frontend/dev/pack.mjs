// Puts a gzipped copy (`.gz`) beside every text file of the build that gains from it; the server sends those to
// browsers that accept them. Run by `npm run build`.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const folder = process.argv[2] ?? "dist";

for (const name of readdirSync(folder, { recursive: true })) {
  if (!/\.(?:js|css|html|svg)$/.test(name)) continue;
  const path = join(folder, name);
  const plain = readFileSync(path);
  const packed = gzipSync(plain, { level: 9 });
  if (packed.length < 0.9 * plain.length) writeFileSync(`${path}.gz`, packed);
}
