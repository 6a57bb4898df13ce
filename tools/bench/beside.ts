/**
 * This checkout beside others and the floor, all at work at the same time: what else the machine does slows down all of them
 * equally, so a smaller difference shows than in `pair`. Only processor time counts here.
 */
import { writeMinifiedConfig } from "../../test/support/server.ts";
import { load, percentile, table } from "./figures.ts";
import { drive, type Graph, timeRun } from "./runs/drive.ts";
import { startPlain } from "./servers/plain.ts";
import type { Server } from "./servers/server.ts";
import type { Bench, Options } from "./bench.ts";

const WARM_UP = 20;
/** Runs that each server has at work at the same time. */
const AT_ONCE = 4;

export const bench: Bench = {
  title: "processor time of this checkout, of others and of the floor, all at work at the same time",
  byName: true,
  async start({ against, ...options }) {
    await using started = new AsyncDisposableStack();
    const servers: Server[] = [];
    const start = async (settings: Parameters<typeof startPlain>[0]) =>
      servers.push(started.use(await startPlain(settings)));
    await start({ name: "here" });
    const floor = writeMinifiedConfig("tools/bench/workers/floor-worker.ts", "floor");
    if (options.graphs.includes("echo")) await start({ config: floor, name: "floor" });
    for (const root of against?.split(",") ?? []) await start({ root, name: root });
    for (const graph of options.graphs) await measure(servers, graph, options);
  },
};

async function measure(all: Server[], graph: Graph, { runs, rounds }: Options): Promise<void> {
  // The floor runs `echo` for every request.
  const servers = all.filter(({ name }) => graph === "echo" || name !== "floor");
  await Promise.all(
    servers.map(async ({ client }) => {
      for (let i = 0; i < Math.min(WARM_UP, runs); i += 1) await timeRun(client, graph);
    }),
  );
  const used: number[][] = servers.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const driven = await Promise.all(servers.map((server) => drive(server, { graph, runs, atOnce: AT_ONCE })));
    for (const [i, { cpu }] of driven.entries()) used[i]?.push(cpu.workerd);
  }
  const base = used[0] ?? [];
  const rows = servers.map(({ name }, i) => {
    const own = used[i] ?? [];
    const ratios = own.map((cpu, round) => cpu / (base[round] ?? Number.NaN));
    const share = [50, 0, 100].map((p) => percentile(ratios, p).toFixed(2));
    return [name, percentile(own, 50).toFixed(1), `${share[0]} (${share[1]} to ${share[2]})`];
  });
  console.log(`${graph}: ${rounds} rounds of ${runs} runs on each, ${AT_ONCE} at a time. Load: ${load()}.\n`);
  table(["server", "workerd, ms of CPU a run", "divided by the first"], rows);
  console.log("");
}
