/**
 * How long a view takes to appear. The clock is the page's own, from the click or from the begin of the navigation until the
 * frame in which the content is drawn: to wait from outside costs time of the slowed processor.
 */
import type { Browser, Page } from "playwright-core";
import { chooseAmount } from "../least.ts";
import type { Weir } from "../servers/server.ts";

const SLOWER = chooseAmount(4, 1);
export const SLOW_4G = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };
const TIMES = chooseAmount(5, 1);
/** Milliseconds on a page before the next one is opened. The page loads code ahead in the meantime. */
const STAY = chooseAmount(5_000, 500);
const KEYS = chooseAmount(20, 2);

/** What a page has requested and received: the bytes as they come over the network, with the headers. */
export interface Traffic {
  requests: number;
  bytes: number;
}

/** A new tab of a new user, with a slow processor and nothing in its cache. */
async function tab(
  browser: Browser,
  { key }: Weir,
  network?: typeof SLOW_4G,
): Promise<{ page: Page; traffic: () => Traffic }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const session = JSON.stringify({ kind: "key", secret: key });
  await context.addInitScript((value) => sessionStorage.setItem("weir.session", value), session);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  const received = new Map<string, number>();
  devtools.on("Network.requestWillBeSent", ({ requestId }) => received.set(requestId, 0));
  devtools.on("Network.dataReceived", ({ requestId, encodedDataLength }) =>
    received.set(requestId, (received.get(requestId) ?? 0) + encodedDataLength),
  );
  devtools.on("Network.loadingFinished", ({ requestId, encodedDataLength }) =>
    received.set(requestId, encodedDataLength),
  );
  await devtools.send("Network.enable");
  if (network) await devtools.send("Network.emulateNetworkConditions", network);
  const traffic = () => ({ requests: received.size, bytes: [...received.values()].reduce((sum, one) => sum + one, 0) });
  return { page, traffic };
}

/** The page's clock once `ready`, an expression, is true and the frame is drawn. */
const waitUntilDrawn = (ready: string) => `new Promise((resolve) => {
  const look = () => {
    if (${ready}) requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    else requestAnimationFrame(look);
  };
  look();
})`;

/** Milliseconds until the content is drawn and, of a cold load, what came over the network until then. */
export interface Opened {
  ms: number;
  traffic?: Traffic;
}

async function times(
  browser: Browser,
  server: Weir,
  network: typeof SLOW_4G | undefined,
  one: (page: Page, traffic: () => Traffic) => Promise<Opened>,
): Promise<Opened[]> {
  const found: Opened[] = [];
  for (let i = 0; i < TIMES; i += 1) {
    const { page, traffic } = await tab(browser, server, network);
    found.push(await one(page, traffic));
    await page.context().close();
  }
  return found;
}

/** Milliseconds of each cold load of an address until `ready`. */
export const timeLoad = (browser: Browser, server: Weir, path: string, ready: string, network?: typeof SLOW_4G) =>
  times(browser, server, network, async (page, traffic) => {
    await page.goto(server.url + path, { waitUntil: "commit" });
    return { ms: await page.evaluate<number>(waitUntilDrawn(ready)), traffic: traffic() };
  });

/** Milliseconds from a click on a link in the page at `from` until `ready`. */
export const timeClick = (browser: Browser, server: Weir, from: string, link: string, ready: string) =>
  times(browser, server, undefined, async (page) => {
    await page.goto(server.url + from);
    await page.locator(link).first().waitFor();
    await page.waitForTimeout(STAY);
    const ms = await page.evaluate<number>(`(async () => {
      const started = performance.now();
      document.querySelector(${JSON.stringify(link)}).click();
      return (await ${waitUntilDrawn(ready)}) - started;
    })()`);
    return { ms };
  });

/** Milliseconds from a change of the address in the page of keys until `ready`. */
export const timeEntry = (browser: Browser, server: Weir, path: string, ready: string) =>
  times(browser, server, undefined, async (page) => {
    await page.goto(`${server.url}/console/keys`);
    await page.waitForTimeout(STAY);
    const ms = await page.evaluate<number>(`(async () => {
      const started = performance.now();
      history.pushState(null, "", ${JSON.stringify(path)});
      return (await ${waitUntilDrawn(ready)}) - started;
    })()`);
    return { ms };
  });

/** Milliseconds from an arrow key until the next row of the trace has the focus. */
export async function arrows(browser: Browser, server: Weir, path: string): Promise<Opened[]> {
  const { page } = await tab(browser, server);
  await page.goto(server.url + path);
  await page.getByRole("treeitem").nth(5).waitFor();
  await page.getByRole("treeitem").first().click();
  const found = await page.evaluate<number[]>(`(async () => {
    const times = [];
    for (let i = 0; i < ${KEYS}; i++) {
      const started = performance.now();
      const target = document.activeElement;
      target.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", code: "ArrowDown", bubbles: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - started);
    }
    return times;
  })()`);
  await page.context().close();
  return found.map((ms) => ({ ms }));
}
