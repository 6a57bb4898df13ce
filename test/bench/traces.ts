/**
 * Trace runs a second through `/runs/multipart`, as the LangSmith SDK sends them: batches of 100, about 2.6 KB a run,
 * gzip, five requests at a time. Then queries by filter over what was sent (TRACE_ROWS runs in one partition, 20,000 if
 * left out).
 */
import { ms, percentile, table } from "./figures.ts";
import type { Bench } from "./target.ts";
import { BATCH, batch, BOUNDARY } from "./traces/batch.ts";

const AT_ONCE = 5;
const RUNS = 20_000;
const QUERIES = 20;

const FILTERS = [
  'eq(run_type, "llm")',
  'and(eq(run_type, "llm"), gt(latency, 4.9))',
  "neq(error, null)",
  'has(tags, "rare")',
  'and(eq(metadata_key, "user_id"), eq(metadata_value, "u77"))',
  'search("needle in the haystack")',
];

export const bench: Bench = {
  title: "ingest and query of traces",
  weirOnly: true,
  async run({ weir }) {
    if (!weir) return;
    const rows = Number(process.env["TRACE_ROWS"] ?? RUNS);
    const today = Date.parse(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`);
    const days = (count: number) => Array.from({ length: count }, (_, i) => today - i * 86_400_000);
    const results: (string | number)[][] = [];
    for (const [project, count, into] of [
      ["warm", 2_000, days(1)],
      ["ten days", RUNS, days(10)],
      ["one day", rows, days(1)],
    ] as const) {
      const started = performance.now();
      const { size } = await send(weir, project, count, into);
      const seconds = (performance.now() - started) / 1000;
      if (project !== "warm")
        results.push([project, count, Math.round(count / seconds), `${(size / count / 1024).toFixed(1)} KB`]);
    }
    table(["into", "runs", "runs/s", "a run"], results);
    console.log("");
    await queries(weir, rows);
  },
};

interface Server {
  url: string;
  headers: Record<string, string>;
}

/** Sends `count` runs; bodies are made as they are needed, so that memory stays small. */
async function send(server: Server, project: string, count: number, days: number[]): Promise<{ size: number }> {
  let next = 0;
  let size = 0;
  const worker = async () => {
    for (let first = next; first < count; first = next) {
      next += BATCH;
      const { body, bytes } = batch(project, first, days);
      size += bytes;
      const response = await fetch(`${server.url}/runs/multipart`, {
        method: "POST",
        body,
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
  return { size };
}

async function queries(server: Server, rows: number): Promise<void> {
  const post = async (path: string, body: object) => {
    const headers = { ...server.headers, "content-type": "application/json" };
    const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return response.json<{ runs: unknown[] }>();
  };
  const sessions = await fetch(`${server.url}/sessions?name=one%20day`, { headers: server.headers });
  const [project] = await sessions.json<{ id: string }[]>();
  const select = ["id", "name", "start_time", "status"];
  const results: (string | number)[][] = [];
  for (const filter of FILTERS) {
    const times: number[] = [];
    let found = 0;
    for (let i = 0; i < QUERIES; i++) {
      const start = performance.now();
      found = (await post("/runs/query", { session: [project?.id], filter, select, limit: 100 })).runs.length;
      times.push(performance.now() - start);
    }
    results.push([`\`${filter}\``, found, ms(percentile(times, 50)), ms(percentile(times, 90))]);
  }
  console.log(`${rows.toLocaleString("en")} runs in one partition, the newest 100 that match:\n`);
  table(["filter", "found", "p50", "p90"], results);
}
