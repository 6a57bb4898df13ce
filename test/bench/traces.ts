/**
 * Trace runs a second through `/runs/multipart`, as the LangSmith SDK sends them: batches of 100, about 2.6 KB a run,
 * gzip, five requests at a time. Then queries by filter over TRACE_ROWS runs in one partition (1,000,000 if left out), of
 * which 20,000 were sent and the rest are copies.
 */
import { multiply, startKillable, withBenchRoutes } from "../support/server.ts";
import { load, table, typical } from "./figures.ts";
import { workerdUsage } from "./servers/processes.ts";
import type { Bench } from "./target.ts";
import { BATCH, batch, BOUNDARY } from "./traces/batch.ts";

const AT_ONCE = 5;
const RUNS = 20_000;
const QUERIES = 20;
/** A slow query is not asked longer than this, milliseconds. */
const PATIENCE = 15_000;

const FILTERS = [
  'eq(run_type, "llm")',
  'eq(name, "chain")',
  'eq(name, "nobody has this name")',
  "neq(error, null)",
  'eq(status, "error")',
  "gt(latency, 4.9)",
  'and(eq(run_type, "llm"), gt(latency, "4.9s"))',
  'has(tags, "rare")',
  'and(eq(metadata_key, "user_id"), eq(metadata_value, "u77"))',
  'and(eq(metadata_key, "user_id"), eq(metadata_value, "nobody"))',
  'search("needle in the haystack")',
  'search("this is nowhere")',
  'and(eq(name, "tool"), or(neq(error, null), has(tags, "rare")), gt(latency, "1s"))',
];

export const bench: Bench = {
  title: "ingest and query of traces",
  weirOnly: true,
  async start() {
    const server = await startKillable({}, { config: withBenchRoutes() });
    try {
      const rows = Number(process.env["TRACE_ROWS"] ?? 1_000_000);
      const today = Date.parse(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`);
      const days = (count: number) => Array.from({ length: count }, (_, i) => today - i * 86_400_000);
      await send(server, "warm", 3_000, days(1));
      const results = [
        await send(server, "one day", RUNS, days(1)),
        await send(server, "ten days", RUNS, days(10)),
        await send(server, "one day again", RUNS, days(1)),
      ];
      table(["into", "runs", "runs/s", "CPU of workerd a run", "a run"], results);
      console.log(`\nLoad: ${load()}.\n`);
      await queries(server, rows, today);
    } finally {
      await server.stop();
    }
  },
};

interface Server {
  url: string;
  pid: number;
  workspaceId: string;
  headers: Record<string, string>;
}

/** Sends `count` runs whose bodies are made beforehand, and gives a row of figures. */
async function send(server: Server, project: string, count: number, days: number[]): Promise<(string | number)[]> {
  const bodies = Array.from({ length: count / BATCH }, (_, i) => batch(project, i * BATCH, days));
  const size = bodies.reduce((sum, { bytes }) => sum + bytes, 0);
  const before = workerdUsage(server.pid).cpu;
  const started = performance.now();
  const worker = async () => {
    for (let next = bodies.pop(); next; next = bodies.pop()) {
      const response = await fetch(`${server.url}/runs/multipart`, {
        method: "POST",
        body: next.body,
        headers: {
          ...server.headers,
          "content-encoding": "gzip",
          "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
        },
      });
      const answer = await response.text();
      if (response.status !== 202 || !answer.includes('"rejected":0'))
        throw new Error(`${response.status} ${answer.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const seconds = (performance.now() - started) / 1000;
  const micros = Math.round((1e6 * (workerdUsage(server.pid).cpu - before)) / count);
  return [project, count, Math.round(count / seconds), `${micros} us`, `${(size / count / 1024).toFixed(1)} KB`];
}

async function queries(server: Server, rows: number, day: number): Promise<void> {
  const sessions = await fetch(`${server.url}/sessions?name=one%20day`, { headers: server.headers });
  const [project] = await sessions.json<{ id: string }[]>();
  if (!project) throw new Error("The project is not there.");
  await multiply(server, project.id, day, rows);
  const results: (string | number)[][] = [];
  for (const filter of FILTERS) {
    const times: number[] = [];
    let found = 0;
    for (let total = 0; times.length < QUERIES && total < PATIENCE;) {
      const start = performance.now();
      found = await query(server, { session: [project.id], filter });
      times.push(performance.now() - start);
      total += times.at(-1) ?? 0;
    }
    results.push([`\`${filter}\``, found, ...typical(times)]);
  }
  console.log(`${rows.toLocaleString("en")} runs in one partition, the newest 100 that match:\n`);
  table(["filter", "found", "p50", "p90"], results);
  console.log(`\nLoad: ${load()}.`);
}

async function query(server: Server, what: object): Promise<number> {
  const headers = { ...server.headers, "content-type": "application/json" };
  const select = ["id", "name", "start_time", "status"];
  const body = JSON.stringify({ ...what, select, limit: 100 });
  const response = await fetch(`${server.url}/runs/query`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json<{ runs: unknown[] }>()).runs.length;
}
