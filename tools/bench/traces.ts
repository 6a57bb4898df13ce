/**
 * Trace runs a second through `/runs/multipart`, as the LangSmith SDK sends them: batches of 100, about 2.6 KB a run,
 * gzip, five requests at a time. Then queries by filter over TRACE_ROWS runs in one partition (1,000,000 if left out), of
 * which 20,000 were sent and the rest are copies.
 */
import { multiply, withBenchRoutes } from "../../test/support/server.ts";
import { load, table, formatTypical } from "./figures.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";
import { workerdUsage } from "./servers/processes.ts";
import type { Weir } from "./servers/server.ts";
import type { Bench } from "./bench.ts";
import { BATCH, batch, BOUNDARY } from "./traces/batch.ts";

const AT_ONCE = 5;
const RUNS = chooseAmount(20_000, 200);
const QUERIES = chooseAmount(20, 1);
/** A slow query is not asked longer than this, milliseconds. */
const PATIENCE = Number(process.env["TRACE_PATIENCE"] ?? 15_000);

/** Every kind of condition in docs/traces.md, with values that occur and values that do not. */
const FILTERS = [
  'eq(run_type, "llm")',
  'eq(name, "absent")',
  'like(name, "%absent%")',
  'in(name, ["absent", "neither"])',
  "neq(error, null)",
  'like(error, "%not this error%")',
  'eq(status, "error")',
  'eq(status, "pending")',
  'eq(thread_id, "t-77")',
  'eq(thread_id, "no thread")',
  'eq(id, "00000000-0000-7000-8000-000000000001")',
  'eq(trace_id, "00000000-0000-7000-8000-000000000001")',
  'eq(parent_run_id, "00000000-0000-7000-8000-000000000001")',
  'eq(reference_example_id, "00000000-0000-7000-8000-000000000001")',
  'and(eq(run_type, "llm"), gt(latency, "4.9s"))',
  'gt(latency, "1h")',
  "gt(total_tokens, 1000000)",
  "gt(total_cost, 1000000)",
  'lt(end_time, "2001-01-01T00:00:00Z")',
  "neq(first_token_time, null)",
  "gt(execution_order, 5)",
  'has(tags, "rare")',
  'has(tags, "absent")',
  'not(has(tags, "bench"))',
  'and(eq(metadata_key, "user_id"), eq(metadata_value, "u77"))',
  'and(eq(metadata_key, "user_id"), eq(metadata_value, "absent"))',
  'and(eq(metadata_key, "user_id"), like(metadata_value, "%absent%"))',
  'has(metadata, \'{"user_id": "absent"}\')',
  'exists(metadata, "absent")',
  'and(eq(input_key, "messages.content"), eq(input_value, "absent"))',
  'and(eq(output_key, "content"), like(output_value, "%needle in the hay%"))',
  'and(eq(output_key, "content"), like(output_value, "%absent%"))',
  'eq(feedback_key, "absent")',
  'search("needle in the haystack")',
  'search("this is nowhere")',
  'search(error, "no such error")',
  'and(eq(name, "tool"), or(neq(error, null), has(tags, "rare")), gt(latency, "1s"))',
];
/** Selections of whole traces, which are no part of a filter. */
const TREES = [
  { trace_filter: 'has(tags, "absent")' },
  { tree_filter: 'has(tags, "absent")' },
  { tree_filter: 'eq(status, "error")' },
];
/** Statistics: all runs, runs by a column, a window of time, and a condition that no rollup answers. */
const STATISTICS = [
  {},
  { is_root: true },
  { filter: 'eq(run_type, "llm")' },
  { filter: 'and(eq(name, "tool"), eq(status, "error"))' },
  { filter: 'gt(latency, "4s")' },
  { filter: 'has(tags, "rare")' },
];

export const bench: Bench = {
  title: "ingest and query of traces",
  async start() {
    await using server = await startPlain({ config: withBenchRoutes() });
    const rows = Number(process.env["TRACE_ROWS"] ?? chooseAmount(1_000_000, 1_000));
    const today = Date.parse(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`);
    const days = (count: number) => Array.from({ length: count }, (_, i) => today - i * 86_400_000);
    await send(server, "warm", chooseAmount(3_000, 100), days(1));
    const results = [
      await send(server, "one day", RUNS, days(1)),
      await send(server, "ten days", RUNS, days(10)),
      await send(server, "one day again", RUNS, days(1)),
    ];
    table(["into", "runs", "runs/s", "CPU of workerd a run", "a run"], results);
    console.log(`\nLoad: ${load()}.\n`);
    await queries(server, rows, today);
  },
};

/** Sends `count` runs from number `first` on whose bodies are made beforehand, and gives a row of figures. */
export async function send(
  server: Weir,
  project: string,
  count: number,
  days: number[],
  first = 0,
  isScattered = false,
): Promise<(string | number)[]> {
  const bodies = Array.from({ length: count / BATCH }, (_, i) => batch(project, first + i * BATCH, days, isScattered));
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

async function queries(server: Weir, rows: number, day: number): Promise<void> {
  const sessions = await fetch(`${server.url}/sessions?name=one%20day`, { headers: server.headers });
  const [project] = await sessions.json<{ id: string }[]>();
  if (!project) throw new Error("The project is not there.");
  await multiply(server, project.id, day, { rows: rows });
  const results: (string | number)[][] = [];
  for (const wanted of [...FILTERS.map((filter) => ({ filter })), ...TREES]) {
    const { found, times } = await repeat(async () => query(server, { session: [project.id], ...wanted }));
    results.push([
      `\`${Object.values(wanted)[0]}\`${"filter" in wanted ? "" : ` (${Object.keys(wanted)[0]})`}`,
      found,
      ...formatTypical(times),
    ]);
  }
  console.log(`${rows.toLocaleString("en")} runs in one partition, the newest 100 that match:\n`);
  table(["filter", "found", "p50", "p90"], results);
  const sums: (string | number)[][] = [];
  for (const wanted of STATISTICS) {
    const { found, times } = await repeat(async () => stats(server, { session: [project.id], ...wanted }));
    sums.push([`\`${JSON.stringify(wanted)}\``, found, ...formatTypical(times)]);
  }
  console.log("\nStatistics of the same runs:\n");
  table(["selection", "runs", "p50", "p90"], sums);
  console.log(`\nLoad: ${load()}.`);
}

/** Asks again and again until there are enough times, or patience ends. */
export async function repeat(ask: () => Promise<number>): Promise<{ found: number; times: number[] }> {
  const times: number[] = [];
  let found = 0;
  for (let total = 0; times.length < QUERIES && total < PATIENCE;) {
    const start = performance.now();
    found = await ask();
    times.push(performance.now() - start);
    total += times.at(-1) ?? 0;
  }
  return { found, times };
}

export async function stats(server: Weir, what: object): Promise<number> {
  const headers = { ...server.headers, "content-type": "application/json" };
  const response = await fetch(`${server.url}/runs/stats`, { method: "POST", headers, body: JSON.stringify(what) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json<{ run_count: number }>()).run_count;
}

async function query(server: Weir, what: object): Promise<number> {
  const headers = { ...server.headers, "content-type": "application/json" };
  const select = ["id", "name", "start_time", "status"];
  const body = JSON.stringify({ ...what, select, limit: 100 });
  const response = await fetch(`${server.url}/runs/query`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json<{ runs: unknown[] }>()).runs.length;
}
