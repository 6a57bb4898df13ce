/** Long answers in JSON, to a client that accepts gzip as httpx does: newlines arrive before the result. */
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Api, waitUntil } from "../support/api.ts";
import type { Access, TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer("graphs");
});
afterAll(() => server.stop());

/** Sends a request, waits for the first bytes of the body, lets `then` end the run, and returns first bytes and rest. */
async function readBody(
  { url, headers: own }: Access,
  method: string,
  path: string,
  body: unknown,
  then: () => Promise<void>,
) {
  const headers = { ...own, "content-type": "application/json", "accept-encoding": "gzip, deflate" };
  const answered = Promise.withResolvers<IncomingMessage>();
  const sent = request(url + path, { method, headers }, answered.resolve).on("error", answered.reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const response = await answered.promise;
  const chunks = response.iterator({ destroyOnReturn: false });
  const first = (await chunks.next()).value as Buffer;
  await then();
  const { "cache-control": cacheControl } = response.headers;
  return { first: first.toString("latin1"), rest: await text(response), cacheControl };
}

const forever = { assistant_id: "actor", input: { messages: [{ role: "user", content: "forever" }] } };

async function cancel(api: Api, thread: string): Promise<void> {
  const [run] = await api.get<{ run_id: string }[]>(`/threads/${thread}/runs`);
  await api.send("POST", `/threads/${thread}/runs/${run?.run_id}/cancel?wait=1`);
}

// Each waits some seconds for the first byte, so they wait together, each in a workspace of its own.
it.concurrent.each(["wait", "join"])("/%s", async (way) => {
  const access = await server.startAnother();
  const api = new Api(access.url, access.headers);
  const { thread_id: thread } = await api.post<{ thread_id: string }>("/threads", {});
  const base = `/threads/${thread}/runs`;
  const run = way === "join" ? await api.post<{ run_id: string }>(base, forever) : undefined;
  const [method, path, body] = run ? ["GET", `${base}/${run.run_id}/join`] : ["POST", `${base}/wait`, forever];
  const { first, rest, cacheControl } = await readBody(access, method, path, body, () => cancel(api, thread));
  expect(first).toBe("\n");
  expect(JSON.parse(rest)).toMatchObject({ messages: [{ content: "forever" }] });
  expect(cacheControl).toContain("no-transform");
});

it.concurrent("message/send of A2A", async () => {
  const access = await server.startAnother();
  const api = new Api(access.url, access.headers);
  const contextId = crypto.randomUUID();
  const message = {
    kind: "message",
    role: "user",
    messageId: "m1",
    contextId,
    parts: [{ kind: "text", text: "forever" }],
  };
  const call = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } };
  const { first, rest } = await readBody(access, "POST", "/a2a/actor", call, async () => {
    const thread = await waitUntil("the thread", 10, async () => {
      const [found] = await api.post<{ thread_id: string }[]>("/threads/search", { limit: 100 });
      return found?.thread_id;
    });
    await cancel(api, thread);
  });
  expect(first).toBe("\n");
  expect(JSON.parse(rest)).toMatchObject({ id: 1, result: { kind: "task" } });
});
