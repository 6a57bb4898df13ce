/** What runs cost while they wait for a model: each has begun, and its model gives nothing for minutes. */
import { setTimeout as sleep } from "node:timers/promises";
import { load, percentile, table } from "./figures.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";
import { workerdUsage } from "./servers/processes.ts";
import type { Weir } from "./servers/server.ts";
import type { Bench } from "./bench.ts";

const AT_ONCE = [1, chooseAmount(16, 2)];
/** Seconds of one reading, and before the first one, in which the runs begin. */
const SECONDS = chooseAmount(5, 1);
const vars = { OFFLINE_MODEL_DELAY_MS: "600000" };

/** Starts runs until this many wait. */
async function waitFor({ client }: Weir, count: number): Promise<void> {
  const input = { messages: [{ role: "user", content: "count to 10" }] };
  for (let started = 0; started < count; started += 1) {
    const { thread_id } = await client.threads.create();
    await client.runs.create(thread_id, "agent", { input });
  }
}

/** Milliseconds of processor time a second. */
async function readCpu({ pid }: Weir): Promise<number> {
  const before = workerdUsage(pid).cpu;
  await sleep(SECONDS * 1_000);
  return ((workerdUsage(pid).cpu - before) / SECONDS) * 1_000;
}

export const bench: Bench = {
  title: "processor time of runs that wait for their model",
  byName: true,
  async start({ against, rounds }) {
    await using started = new AsyncDisposableStack();
    const servers = [started.use(await startPlain({ vars, name: "here" }))];
    if (against) servers.push(started.use(await startPlain({ vars, root: against, name: "there" })));
    const rows: (string | number)[][] = [];
    let waiting = 0;
    for (const count of AT_ONCE) {
      for (const server of servers) await waitFor(server, count - waiting);
      waiting = count;
      await sleep(SECONDS * 1_000);
      const readings = servers.map((): number[] => []);
      for (let round = 0; round < rounds; round += 1)
        for (const [at, server] of servers.entries()) readings[at]?.push(await readCpu(server));
      for (const [at, { name }] of servers.entries())
        rows.push([name, count, `${percentile(readings[at] ?? [], 50).toFixed(0)} ms`]);
    }
    console.log(`The median of ${rounds} readings of ${SECONDS} s. Load: ${load()}.\n`);
    table(["server", "runs that wait", "CPU a second"], rows);
  },
};
