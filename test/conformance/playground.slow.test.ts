/** A client of the playground that goes away, over HTTP: the provider's call and the trace end with it. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startKillable, type TestServer } from "../support/server.ts";
import { POLL_MS } from "../support/thorough.ts";

let provider: Server;
let server: TestServer;
/** Calls that the provider was asked to answer and those that were given up. */
const calls = { begun: 0, left: 0 };
let hangs: "before its answer" | "in its answer";

beforeAll(async () => {
  provider = createServer((_, response) => {
    calls.begun++;
    response.on("close", () => calls.left++);
    if (hangs === "before its answer") return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "One" } }] })}\n\n`);
  });
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  const { port } = provider.address() as AddressInfo;
  server = await startKillable({
    OPENAI_API_KEY: "sk-test",
    OFFLINE_MODEL_DELAY_MS: "0",
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
  });
});
afterAll(async () => {
  await server?.stop();
  provider.closeAllConnections();
  provider.close();
});

it.for(["before its answer", "in its answer"] as const)("a model that hangs %s is left at once", async (where) => {
  hangs = where;
  const begun = calls.begun;
  const gone = new AbortController();
  const body = { model: { provider: "openai", model: "m" }, messages: [{ role: "human", content: "hello" }] };
  const response = await fetch(`${server.url}/api/v1/playground/stream`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { ...server.headers, "content-type": "application/json" },
    signal: gone.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes(where === "in its answer" ? '"One"' : "run_id")) text += (await reader.read()).value;
  const { run_id } = JSON.parse(/data: (.*)/.exec(text)?.[1] ?? "{}") as { run_id: string };
  await vi.waitFor(() => expect(calls.begun).toBe(begun + 1), POLL_MS);
  gone.abort();
  const run = await vi.waitFor(
    async () => {
      const read = await fetch(`${server.url}/runs/${run_id}`, { headers: server.headers });
      expect(read.status).toBe(200);
      return read.json();
    },
    // The stream's heartbeat comes after five seconds, and a second one finds the reader gone.
    { timeout: 9_000, interval: 50 },
  );
  expect(run).toMatchObject({ error: "Stopped by the caller.", extra: { metadata: { error_kind: "cancelled" } } });
  await vi.waitFor(() => expect(calls.left).toBe(calls.begun), POLL_MS);
});
