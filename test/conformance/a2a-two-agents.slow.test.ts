/** Two agents in one conversation, one of them outside: the traces of all turns are one thread (specification, section 4.4). */
import { createServer, type Server } from "node:http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.ts";

const PROJECT = "two-agents";
let server: TestServer;
let outside: Server;
let provider: BasicTracerProvider;
let outsideUrl: string;

interface Call {
  id: string;
  metadata?: { thread_id?: string };
  params: { message: { parts: { text: string }[]; contextId?: string } };
}

/** An A2A server that is not Weir: it answers one method, and attaches the caller's thread_id to its own traces. */
function answer(call: Call): object {
  const contextId = call.params.message.contextId ?? crypto.randomUUID();
  const text = `Outside received: ${call.params.message.parts[0]?.text}`;
  const attributes = { "service.metadata.thread_id": call.metadata?.thread_id ?? "", "input.value": text };
  provider.getTracer("outside").startSpan("outside agent", { attributes }).end();
  const artifacts = [{ artifactId: "a", parts: [{ kind: "text", text }] }];
  const result = { kind: "task", id: crypto.randomUUID(), contextId, status: { state: "completed" }, artifacts };
  return { jsonrpc: "2.0", id: call.id, result };
}

beforeAll(async () => {
  server = await startServer({ TRACE_PROJECT: PROJECT });
  const headers = { "x-api-key": server.key, "langsmith-project": PROJECT };
  const exporter = new OTLPTraceExporter({ url: `${server.url}/otel/v1/traces`, headers });
  provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "outside" }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  outside = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer(JSON.parse(text) as Call)));
    });
  });
  await new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve));
  const address = outside.address();
  outsideUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
});
afterAll(async () => {
  await provider.shutdown();
  outside.close();
  await server.stop();
});

interface Answer {
  contextId: string;
  artifacts: { parts: { text: string }[] }[];
}

it("groups the turns of two assistants and of an agent outside", async () => {
  const thread_id = crypto.randomUUID();
  const contexts = new Map<string, string>();
  const turn = async (url: string, text: string): Promise<string> => {
    const contextId = contexts.get(url);
    const message = { messageId: crypto.randomUUID(), role: "user", parts: [{ kind: "text", text }], contextId };
    const body = { jsonrpc: "2.0", id: "1", method: "message/send", params: { message }, metadata: { thread_id } };
    const headers = { "content-type": "application/json", "x-api-key": server.key };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const { result } = await response.json<{ result: Answer }>();
    contexts.set(url, result.contextId);
    return result.artifacts[0]?.parts[0]?.text ?? "";
  };
  const [first, second] = [`${server.url}/a2a/echo`, `${server.url}/a2a/agent`];
  let said = "hello";
  for (let round = 0; round < 2; round += 1) {
    for (const url of [first, outsideUrl, second]) said = await turn(url, said);
  }
  // The first agent's context is the thread that the caller named; the others have their own.
  expect(contexts.get(first)).toBe(thread_id);
  expect(new Set(contexts.values()).size).toBe(3);

  const headers = { "content-type": "application/json", "x-api-key": server.key };
  const roots = async () => {
    const sessions = await fetch(`${server.url}/api/v1/sessions?name=${PROJECT}`, { headers });
    const [project] = await sessions.json<{ id: string }[]>();
    if (!project) return [];
    const query = { session: [project.id], is_root: true, limit: 100, select: ["id", "name", "thread_id", "extra"] };
    const runs = await fetch(`${server.url}/api/v1/runs/query`, {
      method: "POST",
      headers,
      body: JSON.stringify(query),
    });
    return (await runs.json<{ runs: { name: string; thread_id: string }[] }>()).runs;
  };
  await expect.poll(async () => (await roots()).length, { timeout: 30_000, interval: 500 }).toBe(6);
  const all = await roots();
  expect(new Set(all.map((run) => run.thread_id))).toEqual(new Set([thread_id]));
  expect(all.map(({ name }) => name).toSorted((a, b) => a.localeCompare(b))).toEqual([
    "agent",
    "agent",
    "echo",
    "echo",
    "outside agent",
    "outside agent",
  ]);
});
