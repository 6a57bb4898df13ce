/**
 * Threads and readers that are there at the same time: what each keeps in memory, and how long STREAMS (1,000) streams take to open.
 * A credential has at most 256 open streams, so the threads belong to several workspaces.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { newKey } from "../../scripts/local-server.ts";
import { SECRETS } from "../../test/support/server.ts";
import { load, mb, table } from "./figures.ts";
import { Isolate } from "./inspector.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";
import { processTree } from "./servers/processes.ts";
import type { Bench } from "./bench.ts";

const ALL = Number(process.env.STREAMS ?? chooseAmount(1_000, 10));
const WORKSPACES = 5;
const THREADS = ALL / WORKSPACES;
/** Requests under way at the same time while threads are made and run. */
const AT_ONCE = 16;
/** The platform, and Miniflare, end an object that has been idle for ten seconds. */
const IDLE_MS = chooseAmount(15_000, 100);
/** Until the server has seen that all connections are closed. The objects are still live then. */
const CLOSE_MS = chooseAmount(8_000, 100);

interface ThreadAddress {
  path: string;
  headers: Record<string, string>;
}

async function forEachAtOnce<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (let next = left.next(); !next.done; next = left.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function call({ path, headers }: ThreadAddress, body?: object): Promise<Response> {
  const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const answer = await fetch(path, { ...init, headers: { ...headers, "content-type": "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer;
}

async function newThreads(url: string): Promise<ThreadAddress[]> {
  const threads: ThreadAddress[] = [];
  for (let n = 0; n < WORKSPACES; n += 1) {
    const { key } = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
    const headers = { "x-api-key": key };
    await forEachAtOnce(Array.from({ length: THREADS }), async () => {
      const made = await call({ path: `${url}/threads`, headers }, {});
      const { thread_id } = await made.json<{ thread_id: string }>();
      threads.push({ path: `${url}/threads/${thread_id}`, headers });
    });
  }
  return threads;
}

/** Opens a stream on each thread at the same time. */
async function openAll(threads: ThreadAddress[]): Promise<{ time: string; close: () => void }> {
  const start = performance.now();
  const leave = new AbortController();
  const open = threads.map(async ({ path, headers }) => fetch(`${path}/stream`, { headers, signal: leave.signal }));
  for (const { status } of await Promise.all(open)) if (status !== 200) throw new Error(`A stream answered ${status}.`);
  return { time: `${((performance.now() - start) / 1000).toFixed(1)} s`, close: () => leave.abort() };
}

export const bench: Bench = {
  title: `${ALL} threads, and a stream open on each`,
  async start() {
    await using server = await startPlain({ inspected: true });
    using isolate = await Isolate.at(server);
    const resident = () =>
      Math.max(...processTree(server.pid).map((one) => (one.command === "workerd" ? one.resident : 0)));
    const stages: (string | number)[][] = [];
    let before = 0;
    const note = async (stage: string, time = "") => {
      const heap = await isolate.live(() => fetch(`${server.url}/ok`));
      stages.push([stage, time, mb(heap), `${((heap - before) / ALL / 1000).toFixed(1)} KB`, mb(resident())]);
      before = heap;
    };
    const run = { assistant_id: "echo", input: { messages: [{ role: "user", content: "hello" }] } };
    const { headers } = server;
    const { thread_id } = await (
      await call({ path: `${server.url}/threads`, headers }, {})
    ).json<{ thread_id: string }>();
    const warm = { path: `${server.url}/threads/${thread_id}/runs/wait`, headers };
    for (let n = 0; n < chooseAmount(20, 1); n += 1) await (await call(warm, run)).text();
    await sleep(IDLE_MS);
    await note("at rest");
    const threads = await newThreads(server.url);
    await note("threads made, live");
    await forEachAtOnce(threads, async ({ path, headers }) => {
      await (await call({ path: `${path}/runs/wait`, headers }, run)).text();
    });
    await note("after a run of each");
    await sleep(IDLE_MS);
    await note("after fifteen idle seconds");
    const first = await openAll(threads);
    await note("a stream open on each, objects started for it", first.time);
    first.close();
    await sleep(CLOSE_MS);
    const second = await openAll(threads);
    await note("closed, and opened again on live objects", second.time);
    second.close();
    await sleep(2 * IDLE_MS);
    await note("thirty seconds after they closed");
    console.log(`A "thread" column is the change of the heap for each of ${ALL} threads. Load: ${load()}.\n`);
    table(["stage", "time", "heap", "a thread", "resident"], stages);
  },
};
