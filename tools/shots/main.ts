/**
 * `npm run shots [name…]`: a picture of each page in both themes, wide and on a phone, in `.wrangler/shots`. Names limit it to
 * the pages that start with them.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { buildPage } from "../../scripts/build-page.ts";
import { launch } from "../../test/support/chromium.ts";
import { startServer, withTestGraphs } from "../../test/support/server.ts";
import { listShots, type Shot } from "./pages.ts";
import { seed } from "./seed.ts";

const OUT = join(import.meta.dirname, "..", "..", ".wrangler", "shots");
const SCREENS = [
  { name: "wide", options: { viewport: { width: 1440, height: 900 } } },
  { name: "phone", options: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } },
];
buildPage();
mkdirSync(OUT, { recursive: true });
const server = await startServer({ AUTH: "keys" }, withTestGraphs());
const browser = await launch();
const wanted = process.argv.slice(2);
const pages = listShots(await seed(server)).filter(
  ({ name }) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
);
const failed: string[] = [];
let pictures = 0;
await Promise.all(
  (["light", "dark"] as const).flatMap((colorScheme) => SCREENS.map((screen) => takeAll(screen, colorScheme))),
);
await browser.close();
await server.stop();
console.log(`${pictures} pictures in ${OUT}`);
if (failed.length > 0) {
  console.error(`${failed.length} failed:\n${failed.join("\n")}`);
  process.exitCode = 1;
}

/** All pages on one screen in one theme. A page that fails does not keep the others from theirs. */
async function takeAll({ name, options }: (typeof SCREENS)[number], colorScheme: "light" | "dark"): Promise<void> {
  const context = await browser.newContext({ ...options, colorScheme, reducedMotion: "reduce" });
  for (const shot of pages) {
    const file = `${shot.name}-${name}-${colorScheme}.png`;
    const page = await context.newPage();
    const troubles: string[] = [];
    page.on("pageerror", (error) => troubles.push(error.message));
    await take(page, shot, join(OUT, file)).catch((error: unknown) => troubles.push(String(error)));
    if (troubles.length > 0) failed.push(`${file}: ${troubles.join("; ")}`);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.close();
  }
  await context.close();
}

async function take(page: Page, { path, key = server.key, before }: Shot, file: string): Promise<void> {
  const session = JSON.stringify({ kind: "key", secret: key });
  const signIn = `if (origin !== "null") sessionStorage.setItem("weir.session", ${JSON.stringify(session)})`;
  if (key !== "") await page.addInitScript(signIn);
  await page.goto(server.url + path);
  await waitUntilSettled(page);
  await before?.(page);
  await waitUntilSettled(page);
  await page.screenshot({ path: file });
  pictures++;
  const wider = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  if (wider > 0) throw new Error(`${wider} px wider than the screen`);
}

/** Until nothing loads and, for 400 ms, nothing changes; at most 10 s, since some pages show a clock. */
async function waitUntilSettled(page: Page): Promise<void> {
  await page.evaluate(`new Promise((done) => {
    const end = Date.now() + 10_000;
    let changed = Date.now();
    const changes = new MutationObserver(() => (changed = Date.now()));
    changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const timer = setInterval(() => {
      const loads = document.querySelector('#root:empty, [aria-label^="Loading"]') !== null;
      if ((loads || Date.now() - changed < 400) && Date.now() < end) return;
      clearInterval(timer);
      changes.disconnect();
      done();
    }, 50);
  })`);
}
