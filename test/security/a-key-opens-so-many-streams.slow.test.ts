/** One credential cannot keep the server busy with readers: its open streams are capped, and others are not affected. */
import { afterEach, expect, it, vi } from "vitest";
import type { Principal } from "../../src/http/principal.ts";
import { isLong, MAX_STREAMS, reserveStream } from "../../src/access/auth/limits.ts";
import { UNCOMPRESSED } from "../../src/http/middleware.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";

afterEach(() => void vi.useRealTimers());

async function createThread(caller: Caller): Promise<string> {
  return (await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>()).thread_id;
}
const stream = (caller: Caller, thread: string) => caller.fetch(`/threads/${thread}/stream`);
const close = async ({ body }: Response) => body?.cancel();

it("streams of a credential are counted while they are open", async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const [thread, others] = [await createThread(caller), await createThread(other)];
  const open = await Promise.all(Array.from({ length: MAX_STREAMS }, () => stream(caller, thread)));
  expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));

  const refused = await stream(caller, thread);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ detail: expect.stringContaining(`${MAX_STREAMS} open streams`) });
  const run = { assistant_id: "echo", input: { messages: [] } };
  const before = await (await caller.fetch(`/threads/${thread}/runs`)).json<object[]>();
  expect((await caller.fetch(`/threads/${thread}/runs/stream`, { body: run })).status).toBe(429);
  // The run of a refused stream is not made.
  expect(await (await caller.fetch(`/threads/${thread}/runs`)).json()).toHaveLength(before.length);
  const a2a = { accept: "text/event-stream", "x-api-key": caller.key };
  expect((await send("/a2a/echo", { body: {}, headers: a2a })).status).toBe(429);
  expect((await caller.fetch("/agui/echo", { body: {} })).status).toBe(429);

  // Other requests continue, for this credential and for all others.
  expect((await caller.fetch(`/threads/${thread}`)).status).toBe(200);
  await close(await stream(other, others));
  const second = await (await caller.fetch("/api/v1/api-keys", { body: {} })).json<{ key: string }>();
  const own = await send(`/threads/${thread}/stream`, { headers: { "x-api-key": second.key } });
  expect(own.status).toBe(200);
  await close(own);

  await close(open[0] as Response);
  const again = await stream(caller, thread);
  expect(again.status).toBe(200);
  await Promise.all([again, ...open.slice(1)].map(close));
  const after = await stream(caller, thread);
  expect(after.status).toBe(200);
  await close(after);
});

it("streams that end no longer count", async () => {
  const caller = await newCaller();
  const thread = await createThread(caller);
  const body = { assistant_id: "echo", input: { messages: [] } };
  const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
  for (let i = 0; i <= MAX_STREAMS; i += 32) {
    const joins = Array.from({ length: 32 }, async () => {
      const join = await caller.fetch(`/threads/${thread}/runs/${run_id}/stream`);
      await join.text();
      return join.status;
    });
    expect(new Set(await Promise.all(joins))).toEqual(new Set([200]));
  }
});

it("streams that the platform ended no longer count", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const principal = { workspaceId: crypto.randomUUID(), credentialId: "key" } as Principal;
  const request = new Request("https://weir.example/threads/t/stream");
  const reserve = () => reserveStream(request, principal);
  const streams = Array.from({ length: MAX_STREAMS }, reserve);
  expect(reserve).toThrow("open streams");
  vi.setSystemTime(Date.now() + 20_000);
  for (const stream of streams.slice(1)) stream?.seen();
  vi.setSystemTime(Date.now() + 20_000);
  // One has not been seen for 40 seconds.
  expect(reserve).not.toThrow();
  expect(reserve).toThrow("open streams");
});

it("streams that are requested at the same time are counted, and so are waits for a result", async () => {
  const caller = await newCaller();
  const thread = await createThread(caller);
  const body = { assistant_id: "agent", input: { messages: [] } };
  const paths = Array.from({ length: MAX_STREAMS + 10 }, (_, i) => (i % 2 ? "runs/wait" : "runs/stream"));
  const answers = await Promise.all(paths.map((path) => caller.fetch(`/threads/${thread}/${path}`, { body })));
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  await Promise.all(answers.map(close));
  await expect.poll(async () => (await stream(caller, thread)).status).toBe(200);
});

it("calls of MCP and A2A are counted until they are answered", async () => {
  const caller = await newCaller();
  const thread = await createThread(caller);
  const open = await Promise.all(Array.from({ length: MAX_STREAMS }, () => stream(caller, thread)));
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "hi" }] };
  const calls = () => [
    caller.fetch("/mcp/traces", { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } }),
    caller.fetch("/mcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo" } } }),
    caller.fetch("/a2a/echo", { body: { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } } }),
  ];
  const waitForEnd = async (call: Promise<Response>) => {
    const answer = await call;
    await answer.text();
    return answer.status;
  };
  const statuses = async () => Promise.all(calls().map(waitForEnd));
  expect(await statuses()).toEqual([429, 429, 429]);
  await Promise.all(open.slice(0, 3).map(close));
  // Three have room. They are answered, so they no longer count, and the next three have room.
  for (let i = 0; i < 4; i += 1) await expect.poll(statuses).toEqual([200, 200, 200]);
  await Promise.all(open.slice(3).map(close));
});

it("an answer of A2A that begins before its result counts until it ends", () => {
  const late = new Response("\n", { headers: { ...UNCOMPRESSED } });
  const request = new Request("https://weir.example/a2a/echo", { method: "POST" });
  expect([isLong(request, late), isLong(request, Response.json({}))]).toEqual([true, false]);
});

it("sockets of a credential on one thread are counted", async () => {
  const caller = await newCaller();
  const thread = crypto.randomUUID();
  const upgrade = (key = caller.key) =>
    send(`/threads/${thread}/stream/events`, { headers: { "x-api-key": key, upgrade: "websocket" } });
  const sockets: WebSocket[] = [];
  for (let i = 0; i < MAX_STREAMS; i += 1) {
    const { webSocket } = await upgrade();
    webSocket?.accept();
    if (webSocket) sockets.push(webSocket);
  }
  expect(sockets).toHaveLength(MAX_STREAMS);
  const refused = await upgrade();
  expect(refused.status).toBe(429);
  expect(await refused.text()).toContain("open streams");
  const second = await (await caller.fetch("/api/v1/api-keys", { body: {} })).json<{ key: string }>();
  const other = await upgrade(second.key);
  expect(other.status).toBe(101);
  for (const socket of [...sockets, other.webSocket]) {
    if (socket === other.webSocket) socket?.accept();
    socket?.close();
  }
});
