// Puts packed copies (`.br`, `.gz`) beside every text file of the build that gains from it; the server sends those to
// browsers that accept them. Browsers accept Brotli over TLS and on this machine. Run by `npm run build`.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const folder = process.argv[2] ?? "dist";

for (const name of readdirSync(folder, { recursive: true })) {
  if (!/\.(?:js|css|html|svg)$/.test(name)) continue;
  const path = join(folder, name);
  const plain = readFileSync(path);
  const copies = { gz: gzipSync(plain, { level: 9 }), br: brotliCompressSync(plain) };
  for (const [ending, packed] of Object.entries(copies))
    if (packed.length < 0.9 * plain.length) writeFileSync(`${path}.${ending}`, packed);
}
