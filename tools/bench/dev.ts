/**
 * `weir dev` of the built package on the demo project, beside `langgraphjs dev` where that can be installed, in turn: memory,
 * starts, edits, processor time of a run and at rest.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@langchain/langgraph-sdk";
import { load, ms, percentile, table } from "./figures.ts";
import { chooseAmount } from "./least.ts";
import { drive, type Graph } from "./runs/drive.ts";
import { type DevProject, devProject, peerProject, pss } from "./servers/dev.ts";
import { useIfInstalled } from "./servers/peer.ts";
import { startPlain } from "./servers/plain.ts";
import { cpuByRole, processTree } from "./servers/processes.ts";
import type { Server } from "./servers/server.ts";
import type { Bench, Options } from "./bench.ts";

const EDITS = chooseAmount(3, 1);

/** The times of a server, in milliseconds, and its memory by process, in MB. */
interface Figures {
  starts: number[];
  edits: number[];
  /** Processor time of a run, by graph. */
  runs: Partial<Record<Graph, number[]>>;
  /** The part of one processor. */
  rest?: number;
  memory?: [name: string, size: number][];
}

export const bench: Bench = {
  title: "`weir dev` on the demo project",
  byName: true,
  async start(options) {
    const projects = [devProject(options.against ?? "."), ...useIfInstalled(peerProject)];
    const all = projects.map((): Figures => ({ starts: [], edits: [], runs: {} }));
    const plain: Figures = { starts: [], edits: [], runs: {} };
    try {
      for (let round = 0; round < options.rounds; round += 1) {
        for (const [at, project] of projects.entries()) await measure(project, all[at] as Figures, options);
        await using server = await startPlain();
        await measureRuns(server, plain, options);
      }
    } finally {
      for (const project of projects) project.remove();
    }
    show(
      projects.map(({ name }) => name),
      all,
      plain,
      options.graphs,
    );
  },
};

/** One round. The first start is the cold one: nothing is built yet. At rest and in memory a server is measured in the first round. */
async function measure(project: DevProject, figures: Figures, { idle, ...options }: Options): Promise<void> {
  await using server = await project.start();
  figures.starts.push(server.took);
  // After its first answer the server reads types and restarts once; then it stops what it does not need.
  await sleep(Math.min(idle, 75) * 1_000);
  if (figures.rest === undefined) {
    const before = readCpu(server);
    await sleep(idle * 1_000);
    figures.rest = (readCpu(server) - before) / (idle * 1_000);
    figures.memory = processTree(server.pid ?? 0).map(({ command, pid }) => [command, pss(pid)]);
  }
  await measureRuns(server, figures, options);
  for (let n = 0; n < EDITS; n += 1) {
    const greeting = `Edit ${figures.edits.length}`;
    figures.edits.push(await timeEdit(server.client, greeting, (text) => project.edit(text)));
  }
}

/** Processor milliseconds of all its processes so far. */
const readCpu = ({ pid = 0, persistTo }: Server): number =>
  Object.values(cpuByRole(pid, persistTo)).reduce((sum, seconds) => sum + seconds, 0) * 1000;

/** Processor milliseconds of a run of each graph, those of the server's processes together. */
async function measureRuns(
  server: Server,
  figures: Figures,
  { graphs, runs }: Pick<Options, "graphs" | "runs">,
): Promise<void> {
  for (const graph of graphs) {
    await drive(server, { graph, runs: Math.min(runs, 10), atOnce: 1 });
    const { cpu } = await drive(server, { graph, runs, atOnce: 1 });
    (figures.runs[graph] ??= []).push(cpu.workerd + cpu.proxy + cpu.node);
  }
}

/** Milliseconds from a change of the code until a run shows it. */
async function timeEdit(client: Client, greeting: string, edit: (greeting: string) => void): Promise<number> {
  const input = { messages: [{ role: "user", content: "hello" }] };
  const began = performance.now();
  edit(greeting);
  for (;;) {
    const values = await client.runs.wait(null, "echo", { input }).catch(() => undefined);
    if (JSON.stringify(values)?.includes(greeting)) return performance.now() - began;
    await sleep(20);
  }
}

function show(names: string[], all: Figures[], plain: Figures, graphs: Graph[]): void {
  const median = (numbers: number[] | undefined) => ms(percentile(numbers ?? [], 50));
  const spread = (numbers: number[]) => `${ms(Math.min(...numbers))} to ${ms(Math.max(...numbers))}`;
  const memory = ({ memory = [] }: Figures) => {
    const parts = memory.filter(([, size]) => size >= 1).map(([name, size]) => `${name} ${size.toFixed(0)}`);
    return `${memory.reduce((sum, [, size]) => sum + size, 0).toFixed(0)} MB: ${parts.join(", ")}`;
  };
  table(
    ["", ...names],
    [
      ["first answer, cold", ...all.map(({ starts }) => ms(starts[0] ?? Number.NaN))],
      ["first answer, warm: median", ...all.map(({ starts }) => median(starts.slice(1)))],
      ["an edit that is served: median", ...all.map(({ edits }) => median(edits))],
      ["an edit: least and most", ...all.map(({ edits }) => spread(edits))],
      ["processor at rest", ...all.map(({ rest = 0 }) => `${(rest * 100).toFixed(2)} %`)],
      ["proportional set size", ...all.map(memory)],
    ],
  );
  console.log("");
  table(
    ["CPU of a run: median", ...names, "plain server"],
    graphs.map((graph) => [graph, ...[...all, plain].map(({ runs }) => median(runs[graph]))]),
  );
  console.log(`\nLoad: ${load()}.`);
}
