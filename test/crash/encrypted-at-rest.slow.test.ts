/** Nothing of what a workspace that encrypts was given is readable in the files of the server: SQLite, D1 and R2, byte by byte. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callAs } from "../support/workspace.ts";
import { type Access, type KillableServer, startKillable } from "../support/server.ts";

/** Ways in, by what each puts its own marker into. */
const WAYS = [
  "run-input",
  "run-config",
  "state-update",
  "superstep",
  "interrupt",
  "webhook",
  "stateless-run",
  "store-item",
  "cron-input",
  "a2a-message",
  "mcp-call",
  "trace-inputs",
  "trace-outputs",
  "trace-error",
  "trace-extra",
  "trace-event",
  "trace-large",
  "trace-attachment",
  "example-inputs",
  "example-outputs",
  "feedback-comment",
  "feedback-correction",
] as const;
type Way = (typeof WAYS)[number];

const toMarker = (workspace: string, way: Way) => `marker.${workspace}.${way}.`;

let server: KillableServer;
beforeAll(async () => {
  server = await startKillable();
}, 120_000);
afterAll(async () => server.stop());

/** Sends each marker once. */
async function fill(at: Access, workspace: string): Promise<void> {
  const say = (way: Way) => toMarker(workspace, way);
  const post = async <T>(path: string, body: unknown) => callAs<T>(at, "POST", path, body);
  const asks = (way: Way) => ({ messages: [{ role: "user", content: say(way) }] });
  const newThread = async (more: object = {}) => (await post<{ thread_id: string }>("/threads", more)).thread_id;

  const thread = await newThread();
  const config = { configurable: { note: say("run-config") } };
  await post(`/threads/${thread}/runs/wait`, { assistant_id: "echo", input: asks("run-input"), config });
  await post(`/threads/${thread}/state`, { values: asks("state-update") });
  const steps = [{ updates: [{ values: asks("superstep"), as_node: "__start__" }] }];
  await newThread({ metadata: { graph_id: "echo" }, supersteps: steps });
  await post(`/threads/${await newThread()}/runs/wait`, { assistant_id: "approval", input: asks("interrupt") });
  const webhook = "https://hooks.example/run";
  await post(`/threads/${await newThread()}/runs/wait`, { assistant_id: "echo", input: asks("webhook"), webhook });
  await post("/runs/wait", { assistant_id: "echo", input: asks("stateless-run"), on_completion: "keep" });
  await callAs(at, "PUT", "/store/items", { namespace: ["n"], key: "k", value: { text: say("store-item") } });
  await post("/runs/crons", { assistant_id: "echo", schedule: "0 0 1 1 *", input: asks("cron-input") });
  const message = {
    role: "user",
    kind: "message",
    messageId: "m1",
    parts: [{ kind: "text", text: say("a2a-message") }],
  };
  await post("/a2a/echo", { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } });
  const call = { name: "echo", arguments: asks("mcp-call") };
  const mcp = { ...at.headers, "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call });
  await (await fetch(`${at.url}/mcp`, { method: "POST", headers: mcp, body })).text();

  const run = {
    id: crypto.randomUUID(),
    name: "step",
    run_type: "chain",
    start_time: new Date().toISOString(),
    session_name: "p",
    inputs: { q: say("trace-inputs") },
    outputs: { a: say("trace-outputs") },
    error: say("trace-error"),
    extra: { runtime: { note: say("trace-extra") } },
    events: [{ name: "e", note: say("trace-event") }],
  };
  await post("/api/v1/runs/batch", { post: [run] });
  const large = { ...run, id: crypto.randomUUID(), inputs: { q: say("trace-large") + "x".repeat(400_000) } };
  await post("/api/v1/runs/batch", { post: [{ ...large, outputs: {}, error: undefined, extra: {}, events: [] }] });
  const parts = new FormData();
  const attached = {
    ...run,
    id: crypto.randomUUID(),
    inputs: {},
    outputs: {},
    error: undefined,
    extra: {},
    events: [],
  };
  const json = (value: unknown) => new Blob([JSON.stringify(value)], { type: "application/json" });
  parts.set(`post.${attached.id}`, json({ ...attached, trace_id: attached.id, dotted_order: undefined }));
  parts.set(`attachment.${attached.id}.file`, new Blob([say("trace-attachment")], { type: "text/plain" }));
  const sent = await fetch(`${at.url}/runs/multipart`, { method: "POST", headers: at.headers, body: parts });
  expect(sent.status).toBe(202);

  const dataset = await post<{ id: string }>("/api/v1/datasets", { name: `set-${workspace}` });
  const io = { inputs: { q: say("example-inputs") }, outputs: { a: say("example-outputs") } };
  await post("/api/v1/examples", { dataset_id: dataset.id, ...io });
  const given = { comment: say("feedback-comment"), correction: { better: say("feedback-correction") } };
  await post("/api/v1/feedback", { run_id: run.id, trace_id: run.id, key: "k", score: 1, ...given });
}

/** The files below a folder that hold this text. */
function filesWith(folder: string, text: string): string[] {
  const needle = Buffer.from(text);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return files.filter((file) => statSync(file).isFile() && readFileSync(file).includes(needle));
}

describe("the files of a server", () => {
  it("hold all markers of a workspace that does not encrypt, and none of one that does", async () => {
    const plain = await server.startAnother();
    const key = await callAs<{ id: string }>(server, "POST", "/api/v1/encryption-keys");
    await fill(plain, "plain");
    await fill(server, "sealed");
    // Projections and traces follow their runs.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    await server.kill();
    const listHeld = (workspace: string) =>
      WAYS.filter((way) => filesWith(server.persistTo, toMarker(workspace, way)).length > 0);
    expect(listHeld("plain")).toEqual([...WAYS]);
    expect(listHeld("sealed").map((way) => [way, filesWith(server.persistTo, toMarker("sealed", way))])).toEqual([]);
    expect(filesWith(server.persistTo, key.id).length).toBeGreaterThan(3);
  }, 180_000);
});
