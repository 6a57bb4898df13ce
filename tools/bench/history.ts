/** What reading a thread costs once it has 1,000 checkpoints, beside one that has few. */
import { table, timeCalls, formatTypical } from "./figures.ts";
import { chooseAmount } from "./least.ts";
import type { Bench } from "./bench.ts";
import { startPlain } from "./servers/plain.ts";
import type { Server } from "./servers/server.ts";

const FEW = 10;
const MANY = chooseAmount(1_000, 30);
const CALLS = chooseAmount(20, 1);

/** A thread with at least this many checkpoints: runs of `echo`, each of which adds to its messages. */
async function createThread(
  { client }: Server,
  checkpoints: number,
): Promise<{ id: string; runs: number; has: number }> {
  const { thread_id: id } = await client.threads.create();
  let runs = 0;
  let has = 0;
  let perRun = 0;
  while (has < checkpoints) {
    runs += 1;
    await client.runs.wait(id, "echo", { input: { messages: [{ role: "user", content: `turn ${runs}` }] } });
    // Each run leaves as many as the first.
    perRun ||= (await client.threads.getHistory(id)).length;
    has += perRun;
  }
  return { id, runs, has: (await client.threads.getHistory(id, { limit: MANY })).length };
}

async function measureHistory({ client }: Server, id: string): Promise<Record<string, number[]>> {
  const newest = await client.threads.getHistory(id, { limit: MANY });
  const middle = newest[Math.floor(newest.length / 2)]?.checkpoint;
  const reads: Record<string, () => Promise<unknown>> = {
    "the newest state": async () => client.threads.getState(id),
    "a state in the middle": async () => client.threads.getState(id, String(middle?.checkpoint_id)),
    "history, the newest 10": async () => client.threads.getHistory(id, { limit: 10 }),
    "history, 10 from the middle": async () =>
      client.threads.getHistory(id, { limit: 10, before: { configurable: { ...middle } } }),
    "history, the newest 100": async () => client.threads.getHistory(id, { limit: 100 }),
    "history, all": async () => client.threads.getHistory(id, { limit: MANY }),
  };
  const times: Record<string, number[]> = {};
  for (const [name, read] of Object.entries(reads)) times[name] = await timeCalls(CALLS, read);
  return times;
}

export const bench: Bench = {
  title: "states and history of a long thread",
  async start() {
    await using target = await startPlain();
    const threads = [await createThread(target, FEW), await createThread(target, MANY)];
    const times: Record<string, number[]>[] = [];
    for (const { id } of threads) times.push(await measureHistory(target, id));
    const heads = threads.flatMap(({ has, runs }) => [`${has} checkpoints, ${runs} runs: p50`, "p90"]);
    const rows = Object.keys(times[0] ?? {}).map((name) => [
      name,
      ...times.flatMap((one) => formatTypical(one[name] ?? [])),
    ]);
    table(["read", ...heads], rows);
  },
};
