/**
 * How long the page takes in Chromium, with a processor that is slowed down four times. A view is opened in three ways: by a
 * click beside it, from another view, and cold, by its address in a new tab. Four views are also opened cold
 * over a network like slow 4G (1.6 Mbit/s down, 0.75 up, 150 ms), the others over the local one. Of a cold load, the table has
 * the requests and the bytes that came over the network until the content was drawn.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PAGE } from "../../src/cli/project/package.ts";
import { launch } from "../../test/support/chromium.ts";
import { withBenchRoutes } from "../../test/support/server.ts";
import { load, ms, percentile, table } from "./figures.ts";
import { chooseAmount } from "./least.ts";
import { longThread, longTrace, manyTraces } from "./page/fill.ts";
import { arrows, timeClick, timeEntry, timeLoad, type Opened, SLOW_4G, type Traffic } from "./page/measure.ts";
import { startPlain } from "./servers/plain.ts";
import type { Bench } from "./bench.ts";

const THREAD_RUNS = chooseAmount(100, 2);
const TRACE_RUNS = chooseAmount(2_000, 30);
const OVERVIEW_RUNS = chooseAmount(100_000, 200);

const COMPOSER = 'document.querySelector("#composer")';
const LAST_ANSWER = `[...document.querySelectorAll("[data-part=text]")].at(-1)?.textContent.includes("turn ${THREAD_RUNS - 1}")`;
const ROWS = 'document.querySelectorAll("[role=treeitem]").length > 5';
const LISTED = 'document.querySelector("tbody tr[data-key]")';
const PLOT = 'document.querySelector("canvas")';

export const bench: Bench = {
  title: "views of the page",
  byName: true,
  async start() {
    if (!existsSync(join(PAGE, "index.html"))) throw new Error("The page is not built: npm run build");
    await using server = await startPlain({ config: withBenchRoutes(), page: true });
    await using browser = await launch();
    const rows: string[][] = [];
    const row = async (view: string, aim: string, opened: Promise<Opened[]>) => {
      const found = await opened;
      const times = found.map((one) => one.ms);
      const traffic = found.flatMap((one) => one.traffic ?? []);
      const findMost = (count: (one: Traffic) => number) => (traffic.length > 0 ? Math.max(...traffic.map(count)) : "");
      const requests = String(findMost((one) => one.requests));
      const kb = String(findMost((one) => Math.round(one.bytes / 1_000)));
      rows.push([view, aim, ms(percentile(times, 50)), ms(Math.max(...times)), requests, kb]);
    };
    const thread = await longThread(server, THREAD_RUNS);
    const trace = await longTrace(server, TRACE_RUNS);
    const chat = `/chat/${thread}`;
    const page = `/traces/${trace.id}?project=${trace.project}`;
    const list = `/traces?project=${trace.project}`;
    const ofThread = `a thread of ${THREAD_RUNS} runs, its last answer`;
    const ofTrace = `a trace of ${TRACE_RUNS.toLocaleString("en")} runs, its first rows`;
    await row("first composer on slow 4G, cold", "2,000 ms", timeLoad(browser, server, "/chat", COMPOSER, SLOW_4G));
    await row("list of traces on slow 4G, cold", "2,000 ms", timeLoad(browser, server, list, LISTED, SLOW_4G));
    await row(`${ofThread} on slow 4G, cold`, "2,000 ms", timeLoad(browser, server, chat, LAST_ANSWER, SLOW_4G));
    await row(`${ofTrace} on slow 4G, cold`, "2,000 ms", timeLoad(browser, server, page, ROWS, SLOW_4G));
    await row(
      `${ofThread}: click in the list`,
      "500 ms",
      timeClick(browser, server, "/chat", `a[href="${chat}"]`, LAST_ANSWER),
    );
    await row(`${ofThread}: from another view`, "500 ms", timeEntry(browser, server, chat, LAST_ANSWER));
    await row(`${ofThread}: cold`, "", timeLoad(browser, server, chat, LAST_ANSWER));
    await row(
      `${ofTrace}: click in the list`,
      "300 ms",
      timeClick(browser, server, list, `a[href^="/traces/${trace.id}"]`, ROWS),
    );
    await row(`${ofTrace}: from another view`, "300 ms", timeEntry(browser, server, page, ROWS));
    await row(`${ofTrace}: cold`, "", timeLoad(browser, server, page, ROWS));
    await row("arrow keys in that trace", "32 ms", arrows(browser, server, page));
    await manyTraces(server, OVERVIEW_RUNS);
    const overview = `overview over ${OVERVIEW_RUNS.toLocaleString("en")} runs, its first plot: from another view`;
    await row(overview, "1,000 ms", timeEntry(browser, server, "/", PLOT));
    table(["view", "aim", "p50", "most", "requests before", "KB before"], rows);
    console.log(`\nLoad: ${load()}.`);
  },
};
