/** What one run does, on a server that counts: commits, rows, calls and alarms. These do not depend on the machine. */
import type { Counts, Meter } from "../workers/counting/counts.ts";
import { percentile, table } from "../figures.ts";
import { chooseAmount } from "../least.ts";
import { difference, waitUntilSettled, startCounting } from "../servers/counting.ts";
import { processTree } from "../servers/processes.ts";
import type { Weir } from "../servers/server.ts";
import { type Graph, timeRun } from "./drive.ts";
import { countFsyncs } from "./fsyncs.ts";
import { commitsBetween, DATABASES, type Database, readLogs } from "./wal.ts";

const RUNS = chooseAmount(5, 3);
const WARM_UP = chooseAmount(3, 1);

interface Footprint {
  counts: Counts;
  commits: Record<Database, number>;
  fsyncs: number | undefined;
}

/** The footprints of runs that follow each other, each with the work that comes after its stream's end. */
async function footprints(server: Weir, graph: Graph, fsyncs: () => number | undefined): Promise<Footprint[]> {
  const { client, persistTo } = server;
  for (let run = 0; run < WARM_UP; run += 1) await timeRun(client, graph);
  const made: Footprint[] = [];
  const look = async () => ({ counts: await waitUntilSettled(server), logs: readLogs(persistTo), fsyncs: fsyncs() });
  let before = await look();
  for (let run = 0; run < RUNS; run += 1) {
    await timeRun(client, graph);
    const after = await look();
    const counts = difference(before.counts, after.counts);
    // A failed effect is tried again, so its counts are not those of a run.
    if (counts["log lines"]) throw new Error("The server that counts logged a warning or an error during a run.");
    made.push({
      counts,
      commits: commitsBetween(before.logs, after.logs),
      fsyncs: after.fsyncs === undefined ? undefined : after.fsyncs - (before.fsyncs ?? 0),
    });
    before = after;
  }
  return made;
}

const ROWS: Meter[] = [
  "rows written: Thread",
  "rows written: Ledger",
  "rows written: Limiter",
  "rows written: ThreadIndex",
  "rows written: TracePartition",
  "D1 rows written",
  "rows read: Thread",
  "rows read: TracePartition",
  "D1 rows read",
  "D1 queries",
  "requests",
  "calls: Thread",
  "calls: Ledger",
  "calls: Limiter",
  "calls: ThreadIndex",
  "calls: TracePartition",
  "subrequests",
  "alarms set: Thread",
  "alarms set: TracePartition",
  "alarms run: Thread",
];

export async function showCounts(graphs: Graph[]): Promise<void> {
  await using server = await startCounting();
  const workerd = processTree(server.pid).find(({ command }) => command === "workerd");
  await using tracer = workerd && (await countFsyncs(workerd.pid));
  const all: Footprint[][] = [];
  for (const graph of graphs) all.push(await footprints(server, graph, () => tracer?.count));
  const row = (name: string, figure: (footprint: Footprint) => number) => [
    name,
    ...all.map((runs) => percentile(runs.map(figure), 50)),
  ];
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  const rows = [
    row("commits, all", ({ commits }) => sum(Object.values(commits))),
    ...DATABASES.map((database) => row(`commits: ${database}`, ({ commits }) => commits[database])),
    ...(tracer ? [row("fsyncs", ({ fsyncs }) => fsyncs ?? 0)] : []),
    ...ROWS.map((meter) => row(meter, ({ counts }) => counts[meter] ?? 0)),
  ];
  console.log(
    `One run on a new thread, made inside the count: median of ${RUNS}.${tracer ? "" : " No strace, no fsyncs."}\n`,
  );
  table(["a run", ...graphs], rows);
}
