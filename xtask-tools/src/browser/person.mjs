// A person in front of the dashboard: starts runs, watches, answers, approves, steers, cancels, compares and searches, and attacks it from another origin.
// Arguments: the program of Chromium, the address that `aime serve` printed, the folder for pictures. Prints what was seen as JSON.
import { createServer } from "node:http";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [program, address, folder] = process.argv.slice(2);
const seen = { said: [], foreign: [] };
const browser = await puppeteer.launch({
  executablePath: program,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--no-pings", "--hide-scrollbars"],
});
const own = new URL(address).origin;
const open = async () => {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.setViewport({ width: 1280, height: 900 });
  // Each window is looked at, also while another is in front of it.
  await (await page.createCDPSession()).send("Emulation.setFocusEmulationEnabled", { enabled: true });
  page.on("console", (message) => seen.said.push(message.text()));
  page.on("pageerror", (error) => seen.said.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (url.startsWith("http") && new URL(url).origin !== own) seen.foreign.push(url);
  });
  return page;
};
const picture = (page, name, options) => page.screenshot({ path: join(folder, name + ".png"), ...options });
const press = async (page, selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
const has = (page, selector, text) =>
  page.waitForFunction((selector, text) => Array.from(document.querySelectorAll(selector)).some((element) => element.textContent.includes(text)), {}, selector, text);

/// Fills in the form of a new run and starts it; the page is then the run's.
const begin = async (page, goal) => {
  await page.click("details.start > summary");
  await page.type("textarea[name=goal]", goal);
  await page.select("select[name=mode]", "complex");
  await press(page, ".start form button");
};

const page = await open();
await page.goto(address);
seen.list = { token: page.url().includes("token"), heading: await page.$eval("h1", (heading) => heading.textContent) };
await begin(page, "do the dishes");
const run = page.url();

// A second window watches and is never loaded again: this mark would go.
const watcher = await open();
await watcher.goto(run);
await watcher.evaluate(() => (window.marked = true));
await has(watcher, "#live", "live");
await has(watcher, ".question", "cp soap.txt foam.txt");
await watcher.click("#task-1 > summary");
await watcher.click("#steer > summary");
await watcher.type("#steer input[name=text]", "half a sen");
const turns = () => watcher.$$eval("#task-1-turns > li", (turns) => turns.length);
const before = await turns();

await has(page, ".question", "cp soap.txt foam.txt");
seen.consent = await page.$$eval(".question button", (buttons) => buttons.map((button) => button.textContent));
await picture(page, "asks");
await press(page, ".question form:first-of-type button");

await has(page, ".question", "Hot or cold?");
await page.type(".question input[name=text]", "hot");
await press(page, ".question button");

// The plan is changed when a task fails: the picture changes by itself, what is open stays open, what is typed stays typed.
await has(watcher, "#plan .node.done", "wash");
await has(watcher, "#plan .node", "Fetch a towel");
await has(watcher, ".question", "Which towel?");
seen.open = await watcher.$eval("#task-1", (task) => task.open);
seen.typed = await watcher.$eval("#steer input[name=text]", (input) => input.value);
seen.grew = (await turns()) - before;

// Steered: said to the actor of the open task.
await has(page, ".question", "Which towel?");
await page.click("#steer > summary");
await page.type("#steer input[name=text]", "the blue one is wet");
await page.select("#steer select[name=task]", "towel");
await press(page, "#steer form[action$='/tell'] button");
await has(watcher, "#learnt li", "the blue one is wet");
await page.type(".question input[name=text]", "the red one");
await press(page, ".question button");
await has(watcher, "#outcome", "The dishes are done.");
await has(watcher, "#live", "it has ended");
seen.watched = await watcher.evaluate(() => window.marked === true);

// What was sent piece by piece is what is sent whole.
const content = () =>
  watcher.evaluate(() => {
    const copy = document.querySelector("#now").cloneNode(true);
    for (const details of copy.querySelectorAll("details")) details.removeAttribute("open");
    return copy.innerHTML;
  });
const pieces = await content();
await watcher.reload();
seen.same = (await content()) === pieces;
await watcher.close();
await page.reload();
await picture(page, "done");

// Search in it.
await page.type("#words", "towel");
await page.waitForFunction(() => document.querySelector("#found").textContent.includes("place"));
seen.foundWithin = await page.$eval("#found", (found) => found.textContent);

// A second run, cancelled for good.
const list = new URL("../", run).href;
await page.goto(list);
await begin(page, "sing a song");
await has(page, ".question", "cp soap.txt foam.txt");
await page.click("#steer > summary");
await press(page, "#steer form:last-of-type button");
await page.waitForFunction(() => document.querySelector("#now").hasAttribute("data-over"));
seen.cancelled = await page.$eval(".status", (status) => status.textContent);

// Search in all runs, and compare the two.
await page.goto(list);
await page.type("input[name=q]", "towel red");
await press(page, ".search button");
seen.found = await page.$$eval(".found li", (places) => places.length);
seen.leads = await page.$eval(".found h3 a", (link) => new URL(link.href).hash);
for (const box of await page.$$("input[name=run]")) await box.click();
await press(page, "form[action$='/compare'] p button");
seen.compared = await page.$$eval("#pairs tbody tr", (rows) => rows.map((row) => row.className));
await picture(page, "compare");
await page.setViewport({ width: 480, height: 900 });
await picture(page, "narrow");
await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
await page.setViewport({ width: 1280, height: 900 });
await picture(page, "dark");
const saidBefore = seen.said.length;

// Another server on this machine, which the same browser visits: it is sent no cookie, and its pages can do nothing.
const base = new URL(run).pathname.split("/")[1];
const cookies = [];
const foreign = createServer((request, response) => {
  cookies.push(request.headers.cookie ?? "");
  response.setHeader("content-type", "text/html");
  response.end(`<form method=post action="${own}/${base}/runs"><input name=goal value=stolen><button>go</button></form>`);
});
await new Promise((resolve) => foreign.listen(0, "127.0.0.1", resolve));
const evil = await browser.newPage();
await evil.goto(`http://127.0.0.1:${foreign.address().port}/`);
seen.sentCookie = cookies.some((cookie) => cookie.includes("aime"));
seen.read = await evil.evaluate(async (own, base) => {
  const tried = [];
  for (const [path, options] of [
    [`/${base}/`, { credentials: "include" }],
    ["/api/v1/runs", { credentials: "include" }],
    [`/${base}/runs`, { method: "POST", credentials: "include", mode: "no-cors", body: new URLSearchParams({ goal: "stolen" }) }],
  ]) {
    try {
      const answer = await fetch(own + path, options);
      tried.push(answer.type === "opaque" ? "opaque" : answer.status);
    } catch {
      tried.push("refused");
    }
  }
  return tried;
}, own, base);
const [posted] = await Promise.all([evil.waitForNavigation(), evil.click("button")]);
seen.posted = posted.status();
foreign.close();
seen.said.length = saidBefore;

// Nothing was begun by it.
await page.goto(list);
seen.runs = await page.$$eval("input[name=run]", (runs) => runs.length);
await browser.close();
console.log(JSON.stringify(seen));
