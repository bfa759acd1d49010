// Takes pictures of the main screens of a running server:
//   node e2e/screens.mjs --url http://127.0.0.1:8321 --key rf-… --out docs/img [--width 1440] [--theme light,dark]
//   [--height 900] [--only job,jobs] [--job ftjob-…]
// Without --height a picture shows all of its page.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { launch } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    url: { type: "string", default: process.env.REINFORGE_URL ?? "http://127.0.0.1:8321" },
    key: { type: "string", default: process.env.REINFORGE_API_KEY ?? "" },
    out: { type: "string", default: "screens" },
    width: { type: "string", default: "1440" },
    height: { type: "string" },
    theme: { type: "string", default: "light,dark" },
    only: { type: "string" },
    job: { type: "string" },
  },
});

const base = options.url.replace(/\/$/, "");

/** The first row's address in one of the lists. */
async function firstOf(context, room) {
  const response = await context.request.get(`${base}/api/v1/${room}`);
  const { data } = await response.json();
  return data[0]?.id;
}

/** Name, path, and what must be on the screen before the picture is taken. */
async function screens(context) {
  const job = options.job ?? (await firstOf(context, "jobs"));
  const dataset = await firstOf(context, "datasets");
  const reward = await firstOf(context, "rewards");
  const all = [
    ["start", "/", "article, table, h2"],
    ["jobs", "/jobs", "table tbody tr a, h2"],
    ["job", job && `/jobs/${job}`, "figure"],
    ["completions", job && `/jobs/${job}?tab=completions`, "article pre"],
    ["checkpoints", job && `/jobs/${job}?tab=checkpoints`, "table, h2"],
    ["logs", job && `/jobs/${job}?tab=logs`, "section[aria-label=Log], h2"],
    ["config", job && `/jobs/${job}?tab=config`, "section[aria-label=Specification]"],
    ["new-job", "/jobs/new", "form"],
    ["datasets", "/datasets", "table, h2"],
    ["dataset", dataset && `/datasets/${dataset}`, "table"],
    ["rewards", "/rewards", "table, h2"],
    ["new-reward", "/rewards/new", ".cm-content"],
    ["reward", reward && `/rewards/${reward}`, ".cm-content"],
    ["models", "/models", "table, h2"],
    ["adapters", "/adapters", "table, h2"],
    ["settings", "/settings", "table, h2"],
  ];
  const wanted = options.only?.split(",");
  return all.filter(([name, path]) => path && (!wanted || wanted.includes(name)));
}

async function take(browser, theme) {
  const context = await browser.newContext({
    viewport: { width: Number(options.width), height: 900 },
    colorScheme: theme,
    locale: "en-US",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(`page error: ${error.message}`));
  await page.goto(`${base}/sign-in`);
  await page.waitForSelector("form");
  if (!options.only || options.only.includes("sign-in")) await shoot(page, "sign-in", theme);
  await page.fill("input", options.key);
  await page.click("button[type=submit]");
  await page.waitForURL((url) => url.pathname !== "/sign-in");
  for (const [name, path, ready] of await screens(context)) {
    await page.goto(base + path);
    await page.waitForSelector(ready, { timeout: 15_000 });
    await page.waitForFunction(() => document.fonts.status === "loaded");
    await shoot(page, name, theme);
  }
  await context.close();
}

async function shoot(page, name, theme) {
  await page.setViewportSize({ width: Number(options.width), height: 900 });
  // Charts are drawn when they come into view: make all of the page the view.
  const whole = await page.evaluate(() => document.documentElement.scrollHeight);
  const height = options.height ? Number(options.height) : Math.min(Math.max(whole, 900), 6000);
  await page.setViewportSize({ width: Number(options.width), height });
  await page.waitForFunction(() => document.querySelector("article[aria-busy=true]") === null);
  await page.waitForTimeout(400);
  const path = join(options.out, `${name}-${options.width}-${theme}.png`);
  await page.screenshot({ path });
  console.log(path);
}

mkdirSync(options.out, { recursive: true });
const browser = await launch();
try {
  for (const theme of options.theme.split(",")) await take(browser, theme);
} finally {
  await browser.close();
}
