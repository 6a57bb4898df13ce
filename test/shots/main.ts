/**
 * `npm run shots [name…]`: a picture of each page in both themes, wide and on a phone, in `.wrangler/shots`. Names limit it to
 * the pages that start with them.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { buildPage } from "../../scripts/build-page.ts";
import { startServer, withTestGraphs } from "../support/server.ts";
import { seed } from "./seed.ts";

const OUT = join(import.meta.dirname, "..", "..", ".wrangler", "shots");
const SCREENS = [
  { name: "wide", options: { viewport: { width: 1440, height: 900 } } },
  { name: "phone", options: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } },
];

buildPage();
mkdirSync(OUT, { recursive: true });
const server = await startServer({ AUTH: "keys" }, withTestGraphs());
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const wanted = process.argv.slice(2);
const pages = (await seed(server)).filter(
  ({ name }) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
);
for (const colorScheme of ["light", "dark"] as const) {
  for (const screen of SCREENS) {
    for (const { name, path, before, key = server.key } of pages) {
      const context = await browser.newContext({ ...screen.options, colorScheme, reducedMotion: "reduce" });
      const session = JSON.stringify({ kind: "key", secret: key });
      const signIn = `if (origin !== "null") sessionStorage.setItem("weir.session", ${JSON.stringify(session)})`;
      if (key !== "") await context.addInitScript(signIn);
      const page = await context.newPage();
      page.on("pageerror", (error) => console.error(`${name}: ${error.message}`));
      await page.goto(server.url + path);
      await page.waitForTimeout(1_200);
      await before?.(page);
      await page.screenshot({ path: join(OUT, `${name}-${screen.name}-${colorScheme}.png`) });
      await context.close();
    }
  }
}
await browser.close();
await server.stop();
console.log(`${pages.length * 4} pictures in ${OUT}`);
