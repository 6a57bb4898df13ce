/** `weir dev` of the built package on the demo project: memory, starts, restarts, processor time of a run and at rest. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "langgraph-sdk-1-15";
import { load, ms, percentile, table } from "./figures.ts";
import { drive } from "./runs/drive.ts";
import { devProject, pss } from "./servers/dev.ts";
import { startPlain } from "./servers/plain.ts";
import { cpuByRole, processTree } from "./servers/processes.ts";
import type { Server } from "./servers/server.ts";
import type { Bench } from "./target.ts";

const EDITS = 3;
/** After its first answer the server reads types and restarts once; after this it has stopped what it does not need. */
const SETTLED_MS = 75_000;
const REST_MS = 60_000;

export const bench: Bench = {
  title: "`weir dev` on the demo project",
  weirOnly: true,
  byName: true,
  async start({ against, runs, graphs }) {
    const project = devProject(against ?? ".");
    try {
      const cold = await project.start();
      let { server } = cold;
      try {
        await sleep(SETTLED_MS);
        showMemory(server);
        const before = cpuOf(server);
        await sleep(REST_MS);
        const rest = (cpuOf(server) - before) / REST_MS;
        const cpu = await cpuOfRuns(server, graphs, runs);
        const edits: number[] = [];
        for (let n = 0; n < EDITS; n += 1)
          edits.push(await edited(server.client, `Edit ${n}`, (text) => project.edit(text)));
        await server.stop();
        const warm = await project.start();
        server = warm.server;
        console.log("");
        table(
          ["", "weir dev"],
          [
            ["first answer, cold", ms(cold.took)],
            ["first answer, warm", ms(warm.took)],
            ["an edit that is served: first", ms(edits[0] ?? Number.NaN)],
            ["an edit that is served: median", ms(percentile(edits, 50))],
            ["processor at rest", `${(rest * 100).toFixed(2)} %`],
          ],
        );
        console.log("");
        const plain = await startPlain();
        const floor = await cpuOfRuns(plain, graphs, runs).finally(() => plain.stop());
        table(
          ["CPU of a run", "weir dev", "plain server"],
          graphs.map((graph, at) => [graph, ms(cpu[at] ?? 0), ms(floor[at] ?? 0)]),
        );
        console.log(`\nLoad: ${load()}.`);
      } finally {
        await server.stop();
      }
    } finally {
      project.remove();
    }
  },
};

function showMemory({ pid = 0 }: Server): void {
  const rows = processTree(pid).map((one): [string, number] => [one.command, pss(one.pid)]);
  const sum = rows.reduce((all, [, size]) => all + size, 0);
  table(
    ["process", "PSS, MB"],
    [...rows, ["in all", sum] as const].map(([name, size]) => [name, size.toFixed(0)]),
  );
}

/** Processor milliseconds of all its processes so far. */
const cpuOf = ({ pid = 0, persistTo }: Server): number =>
  Object.values(cpuByRole(pid, persistTo)).reduce((sum, seconds) => sum + seconds, 0) * 1000;

/** Processor milliseconds of a run of each graph, those of the server's processes together. */
async function cpuOfRuns(server: Server, graphs: ("echo" | "agent")[], runs: number): Promise<number[]> {
  const used: number[] = [];
  for (const graph of graphs) {
    await drive(server, { graph, runs: 10, atOnce: 1 });
    const { cpu } = await drive(server, { graph, runs, atOnce: 1 });
    used.push(cpu.workerd + cpu.proxy + cpu.node);
  }
  return used;
}

/** Milliseconds from a change of the code until a run shows it. */
async function edited(client: Client, greeting: string, edit: (greeting: string) => void): Promise<number> {
  const input = { messages: [{ role: "user", content: "hello" }] };
  const began = performance.now();
  edit(greeting);
  for (;;) {
    const values = await client.runs.wait(null, "echo", { input }).catch(() => undefined);
    if (JSON.stringify(values)?.includes(greeting)) return performance.now() - began;
    await sleep(20);
  }
}
