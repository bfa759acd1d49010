// Takes pictures of the screens of a running server that has a finished job:
//   node e2e/screens.mjs --url http://127.0.0.1:8321 --key rf-… --out screens
//     [--places '{"job": "ftjob-…", "replay": …}'] [--only job,jobs] [--height 900] [--png]
//     [--width 1440,1024,390] [--theme light,dark]   or   [--pictures job-1440-light,start-390-dark]
// Without --height a picture shows all of its screen. `make screens` runs it on a server of its own, with the
// pictures that the guide shows.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { launch } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    url: { type: "string", default: process.env.REINFORGE_URL ?? "http://127.0.0.1:8321" },
    key: { type: "string", default: process.env.REINFORGE_API_KEY ?? "" },
    out: { type: "string", default: "screens" },
    width: { type: "string", default: "1440,1024,390" },
    height: { type: "string" },
    theme: { type: "string", default: "light,dark" },
    only: { type: "string" },
    pictures: { type: "string" },
    places: { type: "string", default: "{}" },
    png: { type: "boolean", default: false },
  },
});
const base = options.url.replace(/\/$/, "");
const only = options.only?.split(",");
const pictures = options.pictures?.split(",");

/** Is this picture to be taken? */
function selected(name, width, theme) {
  if (only && !only.includes(name)) return false;
  return pictures?.includes(`${name}-${width}-${theme}`) ?? true;
}

async function get(context, path) {
  const response = await context.request.get(`${base}/api/v1/${path}`);
  if (!response.ok()) throw new Error(`${path}: ${response.status()} ${await response.text()}`);
  return response.json();
}

/** Ids that addresses are made of: those that were given, else of the newest finished job and the newest reward. */
async function places(context) {
  const given = JSON.parse(options.places);
  const found = given.job ?? (await get(context, "jobs?status=succeeded")).data[0]?.id;
  if (!found) throw new Error("there is no finished job to take pictures of");
  const job = await get(context, `jobs/${found}`);
  const reward = given.reward ?? (await get(context, "rewards")).data[0]?.id;
  return { ...given, job: job.id, dataset: job.dataset, reward };
}

/** A group with both signs of advantage, at a step where half is right. */
const MIXED = "tab=completions&step=5";

/** Name, address, what a person does there before the picture is taken, and the height if it is not all of it. */
function screens(places) {
  const { job, dataset, reward, grader, scored, replay, preflight } = places;
  const { base, evaluation, deployment, webhook, paused } = places;
  return [
    ["start", "/"],
    ["jobs", "/jobs"],
    ["job", `/jobs/${job}`],
    ["job-first-screen", `/jobs/${job}`, undefined, 1020],
    ["report-card", `/api/v1/jobs/${job}/card?format=html`, undefined, 1000],
    ["completions", `/jobs/${job}?${MIXED}`, chooseMixed],
    ["tokens", `/jobs/${job}?${MIXED}`, openTokens],
    ["checkpoints", `/jobs/${job}?tab=checkpoints`],
    ["logs", `/jobs/${job}?tab=logs`],
    ["config", `/jobs/${job}?tab=config`],
    ["new-job", `/jobs/new?from=${job}`],
    ["preflight", preflight && `/jobs/new?from=${scored}&preflight=${preflight}`, toPreflight, 900],
    ["labels", scored && `/jobs/${scored}?tab=completions&view=label`],
    ["datasets", "/datasets"],
    ["dataset", `/datasets/${dataset}`],
    ["dataset-prompts", `/datasets/${dataset}?tab=prompts`],
    ["rewards", "/rewards"],
    ["new-reward", `/rewards/new?dataset=${dataset}`],
    ["reward", reward && `/rewards/${reward}?dataset=${dataset}`],
    ["golden-cases", reward && `/rewards/${reward}?tab=golden`, runGolden],
    ["replay", replay && `/rewards/${reward}?tab=replay&job=${scored}&replay=${replay}`],
    ["grader", grader && `/rewards/${grader}?dataset=${dataset}&rows=1-2`],
    ["playground", `/playground?job=${job}`, chat],
    ["playground-three", places.other && `/playground?job=${job}&beside=${places.other}`, chat],
    ["models", "/models"],
    ["adapters", "/adapters"],
    ["new-evaluation", evaluation && `/evaluations/new?like=${evaluation}`],
    ["evaluations", evaluation && "/evaluations"],
    ["evaluation", evaluation && `/evaluations/${evaluation}`, undefined, 1600],
    [
      "two-evaluations",
      evaluation && `/evaluations/${evaluation}?against=${base}&sorted=fell`,
      undefined,
      1800,
    ],
    ["evaluated-row", evaluation && `/evaluations/${evaluation}?against=${base}&row=0`, undefined, 1000],
    ["deployments", deployment && `/deployments?show=${deployment}`],
    ["deploy", deployment && "/deployments?from=", undefined, 900],
    ["live-change", paused && `/jobs/${paused}`, openChange, 1000],
    ["live-changed", paused && `/jobs/${paused}`, undefined, 1400],
    ["fork", scored && `/jobs/${scored}?tab=checkpoints`, openFork, 1000],
    ["family", scored && `/jobs/${scored}`, undefined, 1400],
    ["settings", "/settings"],
    ["people", "/settings?tab=people"],
    ["api-keys", "/settings?tab=keys"],
    ["new-api-key", "/settings?tab=keys", openKey, 900],
    ["usage", "/settings?tab=usage"],
    ["webhooks", webhook && `/settings?tab=webhooks&webhook=${webhook}`],
    ["webhook-delivery", webhook && `/settings?tab=webhooks&webhook=${webhook}`, openDelivery, 900],
    ["judges", "/settings?tab=judges"],
    ["audit-log", "/settings?tab=audit", undefined, 1200],
    ["go-to", "/jobs", (page) => page.keyboard.press("Control+k")],
    ["keys", `/jobs/${job}`, (page) => page.keyboard.press("?")],
  ].filter(([, path]) => path);
}

async function chooseMixed(page) {
  const mixed = page.getByRole("option", { name: /mixed/ }).or(page.getByRole("button", { name: /mixed/ }));
  if ((await mixed.count()) > 0) await mixed.first().click();
}

async function openTokens(page) {
  await chooseMixed(page);
  await settled(page);
  await page
    .getByRole("button", { name: /tokens/ })
    .first()
    .click();
}

async function toPreflight(page) {
  const panel = page.getByRole("region", { name: "Pre-flight" });
  await panel.getByText("Groups by passing completions").waitFor();
  await panel.evaluate((one) => one.scrollIntoView({ block: "start" }));
  await page.evaluate(() => window.scrollBy(0, -64));
}

async function runGolden(page) {
  await page.getByRole("button", { name: /^Run revision/ }).click();
  await page.getByText(/passes all cases|passes \d+ of/).waitFor({ timeout: 60_000 });
}

async function openChange(page) {
  await page.getByRole("button", { name: "Change…" }).click();
  await page.getByRole("menuitem", { name: /Learning rate/ }).click();
  await page.getByRole("textbox", { name: "Learning rate" }).fill("0.0002");
}

async function openFork(page) {
  await page.getByRole("button", { name: "More for step 10" }).click();
  await page.getByRole("menuitem", { name: /New job from here/ }).click();
}

async function openKey(page) {
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("ci");
  await page.getByRole("radio", { name: "Selected scopes" }).check();
}

async function openDelivery(page) {
  await page.getByRole("region", { name: "Deliveries", exact: true }).getByRole("button").first().click();
  await page.getByText("Body", { exact: true }).waitFor();
}

async function chat(page) {
  await page.getByRole("textbox", { name: "Prompt" }).fill("68+57=");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /\d+ tokens[\s\S]*\d+ tokens/.test(document.body.innerText), null, {
    timeout: 120_000,
  });
}

/** Nothing is loading and every font is there. */
async function settled(page) {
  await page.waitForSelector("h1");
  // A job that has not ended keeps a stream open: it is never quiet.
  await page.waitForLoadState("networkidle", { timeout: 10_000 }).catch(() => undefined);
  await page.waitForFunction(
    () => document.querySelector("[aria-busy=true]") === null && document.fonts.status === "loaded",
  );
}

async function shoot(page, name, width, theme, most = 6000) {
  // Charts are drawn when they come into view: make all of the screen the view.
  const whole = await page.evaluate(() => document.documentElement.scrollHeight);
  const height = options.height ? Number(options.height) : Math.min(Math.max(whole, 900), most);
  await page.setViewportSize({ width, height });
  await settled(page);
  await page.waitForTimeout(400);
  const kind = options.png ? { format: "png" } : { format: "webp", quality: 82 };
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", kind);
  await session.detach();
  const path = join(options.out, `${name}-${width}-${theme}.${kind.format}`);
  writeFileSync(path, Buffer.from(data, "base64"));
  taken.add(`${name}-${width}-${theme}`);
  console.log(path);
}

async function take(browser, width, theme) {
  const viewport = { width, height: 900 };
  const context = await browser.newContext({
    viewport,
    colorScheme: theme,
    locale: "en-US",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  // Jobs of others may keep the machine busy.
  page.setDefaultTimeout(120_000);
  page.on("pageerror", (error) => console.error(`page error: ${error.message}`));
  await page.goto(`${base}/sign-in`);
  await settled(page);
  if (selected("sign-in", width, theme)) await shoot(page, "sign-in", width, theme);
  await page.fill("input", options.key);
  await page.click("button[type=submit]");
  await page.waitForURL(`${base}/`);
  for (const [name, path, act, most] of screens(await places(context))) {
    if (!selected(name, width, theme)) continue;
    await page.setViewportSize(viewport);
    await page.goto(base + path);
    await settled(page);
    await act?.(page);
    await shoot(page, name, width, theme, most);
  }
  await context.close();
}

/** Pairs of width and theme that some picture needs. */
function looks() {
  if (!pictures) {
    return options.width
      .split(",")
      .flatMap((width) => options.theme.split(",").map((theme) => [width, theme]));
  }
  const needed = pictures.filter((picture) => !only || only.includes(picture.replace(/-\d+-[a-z]+$/, "")));
  const pairs = new Set(needed.map((picture) => picture.split("-").slice(-2).join(",")));
  return [...pairs].map((pair) => pair.split(","));
}

mkdirSync(options.out, { recursive: true });
const taken = new Set();
const browser = await launch();
try {
  for (const [width, theme] of looks()) await take(browser, Number(width), theme);
} finally {
  await browser.close();
}
const missing = only ? [] : (pictures ?? []).filter((picture) => !taken.has(picture));
if (missing.length > 0) throw new Error(`no such screens: ${missing.join(", ")}`);
