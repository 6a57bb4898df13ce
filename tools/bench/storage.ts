/** Bytes that Durable Objects keep after 1,000 stateless runs, and after 1,000 threads were deleted. */
import { setTimeout as sleep } from "node:timers/promises";
import { timeRun } from "./runs/drive.ts";
import { mb, table } from "./figures.ts";
import { startAlone } from "./servers/plain.ts";
import type { Weir } from "./servers/server.ts";
import { listFiles, indexedThreads, type Kept, measureKept } from "./storage/databases.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";

const COUNT = chooseAmount(1_000, 4);
const AT_ONCE = 16;
/** A stateless run's thread stays a minute for those who still read it. Milliseconds. */
const STATELESS_STAY = chooseAmount(75_000, 100);

async function times(count: number, work: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    for (; left > 0;) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function fill({ client, persistTo }: Weir) {
  const input = { messages: [{ role: "user", content: "hello" }] };
  await times(COUNT, () => client.runs.wait(null, "echo", { input }));
  const rest = sleep(STATELESS_STAY);
  const stateless = listFiles(persistTo, "Thread");

  const ids: string[] = [];
  await times(COUNT, async () => ids.push((await timeRun(client, "echo")).thread_id));
  await times(COUNT, () => client.threads.delete(ids.pop() ?? ""));
  await rest;
  const deleted = listFiles(persistTo, "Thread").filter((file) => !stateless.includes(file));
  return { stateless, deleted };
}

export const bench: Bench = {
  title: "bytes that stay after deletion",
  byName: true,
  async start() {
    await using server = await startAlone();
    const { stateless, deleted } = await fill(server);
    // Databases are read when nothing else has them open.
    await server.end();
    const row = (name: string, { objects, holding, bytes, files }: Kept) => [name, objects, holding, bytes, mb(files)];
    table(
      ["after", "database files", "with tables", "databaseSize of these, bytes", "files on this disk"],
      [
        row(`${COUNT} stateless runs`, measureKept(stateless)),
        row(`deleting ${COUNT} threads`, measureKept(deleted)),
        row(
          "traces of both, which stay until their day expires",
          measureKept(listFiles(server.persistTo, "TracePartition")),
        ),
      ],
    );
    console.log(`\nRows in D1's index of threads: ${indexedThreads(server.persistTo)}.`);
  },
};
