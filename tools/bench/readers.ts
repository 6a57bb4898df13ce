/**
 * READERS (1,000) connected readers, of which DROPS (200) lose their connection every second and reconnect after the last
 * event they had, for MINUTES (10): what they miss, and what the server's memory does. Half of them have WebSockets. A
 * credential has at most 256 open streams, and a stream counts until the server notices its loss, so the threads belong to
 * many workspaces.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { newKey } from "../../scripts/local-server.ts";
import {
  compare,
  createThread,
  Reader,
  run,
  waitUntilSettled,
  type ThreadAddress,
} from "../../test/support/readers.ts";
import { SECRETS } from "../../test/support/server.ts";
import { load, mb, table } from "./figures.ts";
import { Isolate } from "./inspector.ts";
import { startPlain } from "./servers/plain.ts";
import { processTree } from "./servers/processes.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";

const READERS = Number(process.env.READERS ?? chooseAmount(1_000, 8));
const DROPS = Number(process.env.DROPS ?? chooseAmount(200, 2));
const MINUTES = Number(process.env.MINUTES ?? chooseAmount(10, 0.05));
const WORKSPACES = chooseAmount(10, 1);
const THREADS_EACH = 2;
/** Each thread runs once in this time. */
const RUN_EVERY_MS = chooseAmount(10_000, 500);
/** Minutes at which memory is measured. */
const MEASURED = [...new Set([1, 2, 5, 10, 20, 30, MINUTES])].filter((minute) => minute <= MINUTES);
/** Connections that open at the same time. */
const AT_ONCE = 32;

async function forEachAtOnce<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (let next = left.next(); !next.done; next = left.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function newThreads(url: string): Promise<ThreadAddress[]> {
  const threads: ThreadAddress[] = [];
  for (let n = 0; n < WORKSPACES; n += 1) {
    const { key } = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
    for (let i = 0; i < THREADS_EACH; i += 1) threads.push(await createThread(url, { "x-api-key": key }));
  }
  return threads;
}

/** Runs each thread again and again until `isOver`, the threads one after the other. Returns the number of runs. */
async function keepRunning(threads: ThreadAddress[], isOver: () => boolean): Promise<number> {
  let runs = 0;
  while (!isOver()) {
    for (const thread of threads) {
      if (isOver()) break;
      const pause = sleep(RUN_EVERY_MS / threads.length);
      await run(thread);
      runs += 1;
      await pause;
    }
  }
  return runs;
}

/** Drops readers in turn, `DROPS` a second at most, until `isOver`. Returns how many were dropped. */
async function keepDropping(readers: Reader[], isOver: () => boolean): Promise<number> {
  let dropped = 0;
  while (!isOver()) {
    const second = sleep(1_000);
    const some = Array.from({ length: DROPS }, () => readers[dropped++ % readers.length] as Reader);
    await forEachAtOnce(some, async (reader) => {
      await reader.drop();
      await reader.open();
    });
    await second;
  }
  return dropped;
}

export const bench: Bench = {
  title: `${READERS} readers, ${DROPS} of which drop every second, for ${MINUTES} minutes`,
  byName: true,
  async start() {
    await using server = await startPlain({ inspected: true });
    using isolate = await Isolate.at(server);
    const resident = () =>
      Math.max(...processTree(server.pid).map((one) => (one.command === "workerd" ? one.resident : 0)));
    const stages: (string | number)[][] = [];
    const note = async (stage: string) => {
      const heap = await isolate.live(() => fetch(`${server.url}/ok`));
      stages.push([stage, mb(heap), mb(resident()), load()]);
      console.log(stages.at(-1)?.join(", "));
    };
    const threads = await newThreads(server.url);
    await forEachAtOnce(threads, run);
    await note("before the readers");
    const readers = Array.from(
      { length: READERS },
      (_, n) => new Reader(threads[n % threads.length] as ThreadAddress, n % 2 === 0 ? "sse" : "socket"),
    );
    await forEachAtOnce(readers, (reader) => reader.open());
    await note("all are connected");
    const state = { over: false };
    const runs = keepRunning(threads, () => state.over);
    const drops = keepDropping(readers, () => state.over);
    const work = Promise.all([runs, drops]).finally(() => (state.over = true));
    for (const [i, minute] of MEASURED.entries()) {
      await Promise.race([work, sleep((minute - (MEASURED[i - 1] ?? 0)) * 60_000)]);
      await note(`minute ${minute}`);
    }
    state.over = true;
    const [ran, dropped] = await work;
    await waitUntilSettled(readers, 60_000);
    const { missed, wrong, events } = await compare(readers);
    await forEachAtOnce(readers, (reader) => reader.drop());
    await sleep(chooseAmount(30_000, 100));
    await note("thirty seconds after they left");
    console.log(`\n${ran} runs, ${events} events received, ${dropped} drops.`);
    console.log(`Events missed: ${missed}. Twice or out of order: ${wrong}.\n`);
    table(["stage", "heap", "resident", "load"], stages);
  },
};
