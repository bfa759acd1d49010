// Chromium for scripts: CHROMIUM (a path), a system one, or the one that comes as an npm package.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const SYSTEM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function launch() {
  const found = process.env.CHROMIUM ?? SYSTEM.find((path) => existsSync(path));
  if (found) return chromium.launch({ executablePath: found, args: ["--no-sandbox"] });
  const { default: packed } = await import("@sparticuz/chromium");
  // These two make Chromium share one process, which crashes with a normal kernel.
  const args = packed.args.filter((arg) => arg !== "--single-process" && arg !== "--no-zygote");
  return chromium.launch({ executablePath: await packed.executablePath(), args, headless: true });
}
