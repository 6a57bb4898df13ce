/**
 * Trace runs a second through `/runs/multipart`, as the LangSmith SDK sends them: batches of 100, about 2.6 KB a run,
 * gzip, five requests at a time. Then queries by filter over what was sent (TRACE_ROWS runs in one partition, 20,000 if
 * left out).
 */
import { gzipSync } from "node:zlib";
import { segment } from "../../src/traces/dotted.ts";
import { ms, percentile, table } from "./figures.ts";
import type { Bench } from "./target.ts";

const BATCH = 100;
const AT_ONCE = 5;
const BOUNDARY = "----WeirBench";
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

const WORDS = "the river holds measures and lets through what it was given in the order it came".split(" ");

function batch(project: string, first: number, days: number[]): { body: Uint8Array; bytes: number } {
  const parts: string[] = [];
  const part = (name: string, value: unknown) => {
    const json = JSON.stringify(value);
    parts.push(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json; length=${json.length}\r\n\r\n${json}\r\n`,
    );
  };
  let root: { id: string; dotted: string } | undefined;
  for (let n = first; n < first + BATCH; n++) {
    // Traces of ten runs: a chain, and under it model and tool calls.
    const place = n % 10;
    const start = ((days[Math.floor(n / 10) % days.length] ?? 0) + (n % 80_000_000)) * 1000;
    const id = uuid(start, n);
    const own = segment(start, id);
    if (place === 0) root = { id, dotted: own };
    const dotted = place === 0 || !root ? own : `${root.dotted}.${own}`;
    const kind = place === 0 ? "chain" : place % 2 === 1 ? "llm" : "tool";
    const text = (length: number) =>
      Array.from({ length }, (_, i) => WORDS[(n * 7 + i * 3 + (n % 13) * i) % WORDS.length]).join(" ");
    const iso = new Date(start / 1000).toISOString();
    part(`post.${id}`, {
      id,
      trace_id: root?.id ?? id,
      ...(place === 0 ? {} : { parent_run_id: root?.id }),
      dotted_order: dotted,
      name: kind,
      run_type: kind,
      session_name: project,
      start_time: iso,
      end_time: start / 1000 + (n % 5_000),
      tags: n % 1_000 === 7 ? ["bench", "rare"] : ["bench"],
    });
    part(`post.${id}.inputs`, { messages: [{ role: "user", content: `${text(90)} ${n % 997}` }] });
    const usage =
      kind === "llm"
        ? { usage_metadata: { input_tokens: n % 900, output_tokens: n % 300, total_tokens: (n % 900) + (n % 300) } }
        : {};
    part(`post.${id}.outputs`, {
      role: "assistant",
      content: n % 9_973 === 5 ? "a needle in the haystack" : text(110),
      ...usage,
    });
    part(`post.${id}.extra`, {
      metadata: {
        user_id: `u${n % 500}`,
        thread_id: `t-${Math.floor(n / 100)}`,
        ls_provider: "openai",
        ls_model_name: "gpt-4o",
      },
      runtime: { library: "langsmith", runtime: "node", sdk: "langsmith-js", sdk_version: "0.10.5" },
    });
    if (n % 50 === 3) part(`post.${id}.error`, "Error: boom");
  }
  const whole = `${parts.join("")}--${BOUNDARY}--\r\n`;
  return { body: gzipSync(whole, { level: 1 }), bytes: whole.length };
}

function uuid(start: number, n: number): string {
  const time = Math.floor(start / 1000)
    .toString(16)
    .padStart(12, "0");
  const random = Math.floor(Math.random() * 2 ** 24)
    .toString(16)
    .padStart(6, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${n.toString(16).padStart(6, "0").slice(-6)}${random}`;
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
