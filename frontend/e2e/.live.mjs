import { launch } from "./browser.mjs";

const base = "http://127.0.0.1:8399";
const b = await launch();
const c = await b.newContext({ viewport: { width: 1440, height: 1000 }, locale: "en-US" });
const p = await c.newPage();
p.on("pageerror", (e) => console.log("PAGEERROR", e.message));
p.on("console", (m) => m.type() === "error" && console.log("CONSOLE", m.text()));
p.on("dialog", (d) => {
  console.log("DIALOG!!", d.message());
  d.dismiss();
});
await p.goto(base + "/jobs/ftjob-running?tab=completions&prompt=2");
await p.waitForURL(/sign-in/);
console.log("redirected", p.url());
await p.fill("input", "rf-mock-key-1");
await p.click("button[type=submit]");
await p.waitForURL(/ftjob-running/);
console.log("back at", p.url());
await p.waitForSelector("article pre");
await p.waitForTimeout(800);
await p.screenshot({ path: "/tmp/shots/html.png" });
await p.goto(base + "/jobs/ftjob-running");
await p.waitForSelector("figure canvas");
const text = () =>
  p.evaluate(() => document.querySelector("[role=progressbar]").nextElementSibling.innerText);
console.log(await text());
await p.waitForTimeout(3500);
console.log(await text());
const box = await (await p.$("figure canvas")).boundingBox();
await p.mouse.move(box.x + 150, box.y + 60);
await p.waitForTimeout(300);
console.log(
  await p.evaluate(() =>
    [...document.querySelectorAll("figure")]
      .slice(0, 3)
      .map((f) => f.querySelector("div").innerText.replace(/\n/g, " ")),
  ),
);
await p.screenshot({ path: "/tmp/shots/hover.png" });
// keyboard
await p.focus("figure [role=group]");
await p.keyboard.press("ArrowLeft");
await p.keyboard.press("ArrowLeft");
await p.waitForTimeout(1300);
console.log(await p.evaluate(() => document.querySelector("figure [aria-live]").innerText));
await p.keyboard.press("Enter");
await p.waitForTimeout(600);
console.log("picked", p.url());
await p.goBack();
await p.waitForSelector("figure canvas");
await p.click("figure button");
await p.waitForTimeout(300);
console.log(await p.evaluate(() => document.querySelector("figure table").innerText.slice(0, 80)));
// layout stability while live
const heights = [];
for (let i = 0; i < 6; i++) {
  heights.push(await p.evaluate(() => document.documentElement.scrollHeight));
  await p.waitForTimeout(700);
}
console.log("heights", heights);
await c.setOffline(true);
await p.waitForTimeout(1500);
console.log(
  "offline:",
  await p.evaluate(() => document.querySelector("h1").parentElement.innerText.replace(/\n/g, " ")),
);
await c.setOffline(false);
await p.goto(base + "/jobs/ftjob-paused");
await p.waitForSelector("pre");
await p.waitForTimeout(500);
await p.screenshot({ path: "/tmp/shots/paused.png" });
await p.click("text=Cancel…");
await p.waitForTimeout(400);
await p.screenshot({ path: "/tmp/shots/cancel.png" });
await p.goto(base + "/jobs/new");
await p.waitForSelector("form");
await p.click("text=Start the job");
await p.waitForTimeout(300);
await p.setInputFiles("input[type=file]", {
  name: "x.jsonl",
  mimeType: "text/plain",
  buffer: Buffer.from("bad"),
});
await p.waitForTimeout(800);
await p.screenshot({ path: "/tmp/shots/refused.png", fullPage: true });
await p.goto(base + "/jobs/nope");
await p.waitForTimeout(800);
await p.screenshot({ path: "/tmp/shots/nojob.png" });
await p.setViewportSize({ width: 390, height: 844 });
await p.goto(base + "/jobs/ftjob-done");
await p.waitForSelector("figure canvas");
await p.waitForTimeout(500);
await p.screenshot({ path: "/tmp/shots/m390.png" });
console.log("390 overflow", await p.evaluate(() => document.documentElement.scrollWidth));
await p.goto(base + "/jobs");
await p.waitForSelector("table a");
await p.screenshot({ path: "/tmp/shots/m390jobs.png" });
console.log("390 overflow", await p.evaluate(() => document.documentElement.scrollWidth));
await b.close();
