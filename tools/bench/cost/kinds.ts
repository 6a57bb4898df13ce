/** The kinds of work whose cost is counted. Each does some of it on a server that counts, and says how much it was. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Weir } from "../servers/server.ts";
import { BATCH, batch, BOUNDARY } from "../traces/batch.ts";
import { chooseAmount } from "../least.ts";

export interface Done {
  /** How many runs, tokens, rows or minutes that was. */
  units: number;
  /** Threads that the work has left behind. */
  threads?: string[];
}

export interface Kind {
  /** What must be there, made before the count. Gives what `work` gets; without it `work` is done once before the count. */
  before?: (server: Weir) => Promise<string>;
  work: (server: Weir, made: string) => Promise<Done>;
}

const TOGETHER = chooseAmount(4, 1);
/** With the pause of PACE, 480 tokens take about ten seconds. */
export const TOKENS = chooseAmount(480, 5);
export const PACE = { OFFLINE_MODEL_DELAY_MS: "20" };
const ROWS = chooseAmount(20_000, 1_000);
const DAY = 86_400_000;

/** Runs on a new thread each, several at a time because they take long. */
const runs = (graph: string, content: string): Kind => ({
  async work({ client }) {
    const runOnce = async () => {
      const { thread_id } = await client.threads.create();
      const input = { messages: [{ role: "user", content }] };
      const streamMode = ["values" as const, "updates" as const, "messages-tuple" as const];
      for await (const { event, data } of client.runs.stream(thread_id, graph, { input, streamMode }))
        if (event === "error") throw new Error(JSON.stringify(data));
      return thread_id;
    };
    const threads = await Promise.all(Array.from({ length: TOGETHER }, runOnce));
    return { units: TOGETHER, threads };
  },
});

/** A client that waits on a thread at rest for a minute, over SSE or over a WebSocket. */
const createConnected = (open: (server: Weir, thread: string) => Promise<() => void>): Kind => ({
  before: async ({ client }) => (await client.threads.create()).thread_id,
  async work(server, thread) {
    const close = await open(server, thread);
    await sleep(chooseAmount(60_000, 100));
    close();
    return { units: 1 };
  },
});

async function openStream({ url, headers }: Weir, thread: string) {
  const stop = new AbortController();
  const stream = await fetch(`${url}/threads/${thread}/stream`, { headers, signal: stop.signal });
  void stream.text().catch(() => undefined);
  return () => stop.abort();
}

async function openSocket({ url, headers }: Weir, thread: string) {
  const Socket = WebSocket as unknown as new (url: string, options: { headers: object }) => WebSocket;
  const socket = new Socket(`${url.replace("http", "ws")}/threads/${thread}/stream`, { headers });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("The server refuses the WebSocket.")));
  });
  const params = { channels: ["messages", "lifecycle"] };
  socket.send(JSON.stringify({ id: 1, method: "subscription.subscribe", params }));
  return () => socket.close();
}

async function call<T>({ url, headers }: Weir, path: string, body?: object): Promise<T> {
  const response = await fetch(url + path, {
    method: body ? "POST" : "GET",
    headers: { ...headers, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json<T>();
}

const yesterday = () => Math.floor(Date.now() / DAY) * DAY - DAY;

async function ingest({ url, headers }: Weir): Promise<Done> {
  const batches = chooseAmount(10, 1);
  for (let n = 0; n < batches; n += 1) {
    const response = await fetch(`${url}/runs/multipart`, {
      method: "POST",
      body: batch("cost", n * BATCH, [yesterday()]).body,
      headers: { ...headers, "content-encoding": "gzip", "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
    });
    if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  }
  return { units: batches * BATCH };
}

/** The runs that `ingest` has sent, and copies of them, into the bucket that is bound to the Worker. */
async function exportRuns(server: Weir, project: string): Promise<Done> {
  const config = { prefix: "cost" };
  const destination = { destination_type: "r2", display_name: "cost", config };
  const { id } = await call<{ id: string }>(server, "/api/v1/bulk-exports/destinations", destination);
  const job = { bulk_export_destination_id: id, session_id: project, ...window() };
  const made = await call<{ id: string }>(server, "/api/v1/bulk-exports", job);
  for (;;) {
    await sleep(1_000);
    const { status, error, progress } = await call<{
      status: string;
      error: string;
      progress: { rows_written: number };
    }>(server, `/api/v1/bulk-exports/${made.id}`);
    if (status === "COMPLETED") return { units: progress.rows_written };
    if (!["CREATED", "RUNNING"].includes(status)) throw new Error(`The export is ${status}: ${error}`);
  }
}

const window = () => ({ start_time: new Date(yesterday()), end_time: new Date(yesterday() + DAY) });

/** Makes the rows for `exportRuns`. Gives the id of their project. */
async function multiplyRuns(server: Weir): Promise<string> {
  const [{ id: project } = { id: "" }] = await call<{ id: string }[]>(server, "/api/v1/sessions?name=cost");
  const { url, workspaceId } = server;
  const day = window().start_time.toISOString().slice(0, 10);
  const query = new URLSearchParams({ workspace: workspaceId, project, day, rows: String(ROWS) });
  const made = await fetch(`${url}/bench/multiply?${query.toString()}`, { method: "POST" });
  if (!made.ok) throw new Error(`${made.status} ${await made.text()}`);
  return project;
}

async function tick({ url }: Weir): Promise<Done> {
  const done = await fetch(`${url}/bench/tick`, { method: "POST" });
  if (!done.ok) throw new Error(`${done.status} ${await done.text()}`);
  return { units: 1 };
}

export const LONG = `run of \`agent\`, ${TOKENS} tokens in 10 s`;
export const SHORT = "run of `agent`, 1 token";

export const KINDS: Record<string, Kind> = {
  "run of `echo`": runs("echo", "hello"),
  "run of `agent`, one tool call": runs("agent", "What is 17 * 24?"),
  [SHORT]: runs("agent", "count to 1"),
  [LONG]: runs("agent", `count to ${TOKENS}`),
  "trace run ingested": { work: ingest },
  "row exported": { before: multiplyRuns, work: exportRuns },
  "minute of the deployment at rest": { work: tick },
  "minute connected, WebSocket": createConnected(openSocket),
  "minute connected, SSE": createConnected(openStream),
};
