/**
 * How long the page takes in Chromium, with a processor that is slowed down four times. The first view is opened over a
 * network like slow 4G (1.6 Mbit/s down, 0.75 up, 150 ms), the others over the local one.
 */
import { type Browser, chromium, type Page } from "playwright-core";
import { multiply, startKillable, withBenchRoutes } from "../support/server.ts";
import { load, ms, percentile, table } from "./figures.ts";
import type { Bench } from "./target.ts";
import { batch, BOUNDARY } from "./traces/batch.ts";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const SLOWER = 4;
const SLOW_4G = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };
const TIMES = 5;
const THREAD_RUNS = 100;
const TRACE_RUNS = 2_000;
const OVERVIEW_RUNS = 100_000;
const KEYS = 20;

interface Server {
  url: string;
  key: string;
  workspaceId: string;
  headers: Record<string, string>;
}

export const bench: Bench = {
  title: "views of the page",
  byName: true,
  weirOnly: true,
  async start() {
    const server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "0" }, { config: withBenchRoutes() });
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      const thread = await longThread(server);
      const trace = await longTrace(server);
      await manyTraces(server);
      const composer = (page: Page) => page.locator("#composer").waitFor();
      const results = [
        ["first composer on slow 4G", "3,000 ms", ...(await opened(browser, server, "/chat", composer, SLOW_4G))],
        [
          `a thread of ${THREAD_RUNS} runs, its last answer`,
          "500 ms",
          ...(await opened(browser, server, `/chat/${thread}`, (page) =>
            page
              .getByText(`turn ${THREAD_RUNS - 1}`)
              .last()
              .waitFor(),
          )),
        ],
        [
          `a trace of ${TRACE_RUNS.toLocaleString("en")} runs, its first rows`,
          "300 ms",
          ...(await opened(browser, server, `/traces/${trace}`, (page) => page.getByRole("treeitem").nth(5).waitFor())),
        ],
        ["arrow keys in that trace", "32 ms", ...(await arrows(browser, server, `/traces/${trace}`))],
        [
          `overview over ${OVERVIEW_RUNS.toLocaleString("en")} runs, its first plot`,
          "1,000 ms",
          ...(await opened(browser, server, "/", (page) => page.locator("canvas").first().waitFor())),
        ],
      ];
      table(["view", "aim", "p50", "most"], results);
      console.log(`\nLoad: ${load()}.`);
    } finally {
      await browser.close();
      await server.stop();
    }
  },
};

async function post<T>(server: Server, path: string, body: unknown): Promise<T> {
  const headers = { ...server.headers, "content-type": "application/json" };
  const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function longThread(server: Server): Promise<string> {
  const { thread_id } = await post<{ thread_id: string }>(server, "/threads", { metadata: { title: "A long thread" } });
  for (let turn = 0; turn < THREAD_RUNS; turn += 1) {
    const input = { messages: [{ role: "user", content: `turn ${turn}` }] };
    await post(server, `/threads/${thread_id}/runs/wait`, { assistant_id: "echo", input });
  }
  return thread_id;
}

/** One root with calls below it. */
async function longTrace(server: Server): Promise<string> {
  const began = Date.now() - 60_000;
  const root = crypto.randomUUID();
  const dotted = (time: number, id: string) =>
    `${new Date(time).toISOString().replaceAll(/[-:.]/g, "").slice(0, 18)}000Z${id}`;
  const run = (n: number) => {
    const id = n === 0 ? root : crypto.randomUUID();
    const own = dotted(began + n, id);
    return {
      id,
      trace_id: root,
      ...(n > 0 && { parent_run_id: root }),
      dotted_order: n === 0 ? own : `${dotted(began, root)}.${own}`,
      name: n === 0 ? "long trace" : `step ${n}`,
      run_type: n === 0 ? "chain" : "tool",
      session_name: "long trace",
      start_time: new Date(began + n).toISOString(),
      end_time: new Date(began + n + 5).toISOString(),
      inputs: { n },
    };
  };
  for (let first = 0; first < TRACE_RUNS; first += 500) {
    const runs = Array.from({ length: 500 }, (_, i) => run(first + i));
    await post(server, "/runs/batch", { post: runs, patch: [] });
  }
  return root;
}

async function manyTraces(server: Server): Promise<void> {
  const day = new Date().setUTCHours(0, 0, 0, 0);
  for (let first = 0; first < 5_000; first += 100) {
    const headers = {
      ...server.headers,
      "content-encoding": "gzip",
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
    };
    const sent = await fetch(`${server.url}/runs/multipart`, {
      method: "POST",
      body: batch("many", first, [day]).body,
      headers,
    });
    if (!sent.ok) throw new Error(`${sent.status} ${await sent.text()}`);
  }
  const sessions = await fetch(`${server.url}/sessions?name=many`, { headers: server.headers });
  const [project] = await sessions.json<{ id: string }[]>();
  await multiply(server, project?.id ?? "", day, { rows: OVERVIEW_RUNS });
}

/** A new tab of a new user, with a slow processor. */
async function tab(browser: Browser, { key }: Server, network?: typeof SLOW_4G): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const session = JSON.stringify({ kind: "key", secret: key });
  await context.addInitScript((value) => sessionStorage.setItem("weir.session", value), session);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  if (network) {
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", network);
  }
  return page;
}

/**
 * Until `shown`, p50 and most of several new tabs: over `network` from the request of the page, else from a click in the open
 * page, with its files in the cache.
 */
async function opened(
  browser: Browser,
  server: Server,
  path: string,
  shown: (page: Page) => Promise<void>,
  network?: typeof SLOW_4G,
): Promise<string[]> {
  const times: number[] = [];
  for (let i = 0; i < TIMES; i += 1) {
    const page = await tab(browser, server, network);
    if (!network) {
      await page.goto(server.url + path);
      await shown(page);
      await page.goto(`${server.url}/console/keys`);
      await page.waitForLoadState("networkidle");
    }
    const started = performance.now();
    if (network) await page.goto(server.url + path);
    else await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
    await shown(page);
    times.push(performance.now() - started);
    await page.context().close();
  }
  return [ms(percentile(times, 50)), ms(Math.max(...times))];
}

/** From an arrow key until the next row has the focus. */
async function arrows(browser: Browser, server: Server, path: string): Promise<string[]> {
  const page = await tab(browser, server);
  await page.goto(server.url + path);
  await page.getByRole("treeitem").nth(5).waitFor();
  await page.getByRole("treeitem").first().click();
  const times = await page.evaluate<number[]>(`(async () => {
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
  return [ms(percentile(times, 50)), ms(Math.max(...times))];
}
