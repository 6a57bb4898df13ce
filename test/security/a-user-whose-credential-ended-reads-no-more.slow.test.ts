/** A stream or a socket ends with the credential that opened it: within seconds, or at the next command. */
import "../support/graphs.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/lib/crypto.ts";
import { forgetCredentials } from "../../src/access/auth/store.ts";
import { threadObject } from "../../src/threads/remote.ts";
import { message1 } from "../protocols/a2a/rpc.ts";
import { newTokens } from "../access/oauth/person.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";
import type { UserAuth } from "../../src/deployment.ts";
import { POLL_MS } from "../support/thorough.ts";
import { deployUsers, userCalled } from "./users.ts";

type Fetch = (path: string, options?: { body?: unknown; headers?: Record<string, string> }) => Promise<Response>;

const input = { messages: [{ role: "user", content: "forever" }] };
const run = { assistant_id: "actor", input };

/** All routes that answer with a stream without an end. */
const STREAMS: Record<string, (ask: Fetch, thread: string) => Promise<Response>> = {
  "GET /threads/{id}/stream": (ask, thread) => ask(`/threads/${thread}/stream`),
  "POST /threads/{id}/stream": (ask, thread) => ask(`/threads/${thread}/stream`, { body: { channels: ["values"] } }),
  "POST /threads/{id}/stream/events": (ask, thread) =>
    ask(`/threads/${thread}/stream/events`, { body: { channels: ["values"] } }),
  "POST /api/threads/{id}/stream/events": (ask, thread) =>
    ask(`/api/threads/${thread}/stream/events`, { body: { channels: ["values"] } }),
  "POST /threads/{id}/runs/stream": (ask, thread) => ask(`/threads/${thread}/runs/stream`, { body: run }),
  "GET /threads/{id}/runs/{run}/stream": async (ask, thread) => {
    const started = await ask(`/threads/${thread}/runs`, { body: run });
    const { run_id } = await started.json<{ run_id: string }>();
    return ask(`/threads/${thread}/runs/${run_id}/stream`);
  },
  "POST /runs/stream": (ask) => ask("/runs/stream", { body: run }),
  "POST /agui/{assistant}": (ask, thread) => {
    const messages = [{ id: "m", role: "user", content: "forever" }];
    return ask("/agui/actor", { body: { threadId: thread, runId: "r", messages } });
  },
  "POST /agui/{assistant}/connect": async (ask, thread) => {
    await ask(`/threads/${thread}/runs`, { body: run });
    // The run begins a moment later.
    const show = async () => (await ask(`/threads/${thread}`)).json();
    await vi.waitFor(async () => expect(await show()).toMatchObject({ status: "busy" }), POLL_MS);
    return ask("/agui/actor/connect", { body: { threadId: thread, runId: "c", messages: [] } });
  },
  "A2A message/stream": (ask) => {
    const params = { message: message1("forever") };
    return ask("/a2a/actor", { body: { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params } });
  },
};

const newThread = async (ask: Fetch) =>
  (await (await ask("/threads", { body: {} })).json<{ thread_id: string }>()).thread_id;

/** The last event of a stream that was open before `end`. */
async function lastEvent(response: Response): Promise<string> {
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  return (await response.text()).trim().split("\n\n").at(-1) ?? "";
}

interface Socket {
  socket: WebSocket;
  frames: string[];
  closed: Promise<CloseEvent>;
}

async function open(ask: Fetch, thread: string): Promise<Socket> {
  const { webSocket: socket } = await ask(`/threads/${thread}/stream/events`, { headers: { upgrade: "websocket" } });
  if (!socket) throw new Error("no socket");
  const frames: string[] = [];
  const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve, { once: true }));
  socket.addEventListener("message", ({ data }) => frames.push(String(data)));
  socket.accept();
  return { socket, frames, closed };
}

const command = ({ socket }: Socket, method = "state.get", params = {}) =>
  socket.send(JSON.stringify({ id: 1, method, params }));

const ENDED = 'event: error\ndata: {"error":"Unauthorized","message":"The credential of this stream has ended."}';

/** A key that a caller has besides its own, and its end. */
async function newKey(caller: Caller): Promise<{ ask: Fetch; end: () => Promise<unknown> }> {
  const made = await caller.fetch("/api/v1/api-keys", { body: { name: "one" } });
  const { id, key } = await made.json<{ id: string; key: string }>();
  const ask: Fetch = (path, { headers, ...more } = {}) =>
    send(path, { ...more, headers: { "x-api-key": key, ...headers } });
  const admin = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
  return { ask, end: () => send(`/api/v1/api-keys/${id}`, { method: "DELETE", headers: admin }) };
}

async function newToken(
  caller: Caller,
  end: "revoked" | "expired",
): Promise<{ ask: Fetch; end: () => Promise<unknown> }> {
  const { access_token } = await newTokens(caller);
  const ask: Fetch = (path, { headers, ...more } = {}) =>
    send(path, { ...more, headers: { authorization: `Bearer ${access_token}`, ...headers } });
  const revoke = async () => {
    const [grant] = await (await caller.fetch("/api/v1/grants")).json<{ id: string }[]>();
    await caller.fetch(`/api/v1/grants/${grant?.id}`, { method: "DELETE" });
  };
  const expire = async () => {
    const update = env.DB.prepare("UPDATE oauth_tokens SET expires_at = 1 WHERE hash = ?");
    await update.bind(sha256(access_token)).run();
    forgetCredentials();
  };
  return { ask, end: end === "revoked" ? revoke : expire };
}

describe.concurrent("with a deleted key", () => {
  it("every stream ends with an error event, and every socket closes with 4401", async () => {
    const caller = await newCaller();
    const { ask, end } = await newKey(caller);
    const streams = await Promise.all(Object.values(STREAMS).map(async (start) => start(ask, await newThread(ask))));
    const thread = await newThread(ask);
    const [asking, reading] = await Promise.all([open(ask, thread), open(ask, thread)]);
    command(asking);
    command(reading, "subscription.subscribe", { channels: ["values", "lifecycle"] });
    await vi.waitFor(() => expect(asking.frames.length + reading.frames.length).toBe(2), POLL_MS);
    const before = [asking, reading].map(({ frames }) => frames.length);
    await end();
    command(asking);
    // Another key's run, whose events the socket no longer receives.
    await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "echo", input: { messages: [] } } });
    const codes = await Promise.all([asking, reading].map(async ({ closed }) => (await closed).code));
    expect(codes).toEqual([4401, 4401]);
    expect([asking, reading].map(({ frames }) => frames.length)).toEqual(before);
    const names = Object.keys(STREAMS);
    const last = await Promise.all(streams.map(lastEvent));
    expect(Object.fromEntries(last.map((event, i) => [names[i], event]))).toEqual(
      Object.fromEntries(names.map((name) => [name, ENDED])),
    );
  });
});

describe.concurrent.each(["revoked", "expired"] as const)("with a token that is %s", (how) => {
  it("the stream and the socket end", async () => {
    const { ask, end } = await newToken(await newCaller(), how);
    const thread = await newThread(ask);
    const stream = await ask(`/threads/${thread}/stream`);
    const socket = await open(ask, thread);
    await end();
    command(socket);
    expect((await socket.closed).code).toBe(4401);
    expect(socket.frames).toEqual([]);
    expect(await lastEvent(stream)).toBe(ENDED);
  });
});

describe.concurrent("a credential that may do less than when it opened a stream", () => {
  const KEYS = "/api/v1/api-keys";
  const admin = (caller: Caller, path: string, method: string, body: object) =>
    send(path, { method, body, headers: { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId } });
  const putRole = (caller: Caller, permissions: string[]) =>
    admin(caller, "/api/v1/roles/shrinking", "PUT", { permissions });
  const RIGHTS = ["threads.read", "threads.write", "runs.create"];

  type Change = (caller: Caller, id: string) => Promise<unknown>;
  const LESS: Record<string, Change> = {
    "the role has fewer permissions": (caller) => putRole(caller, ["threads.read", "threads.write"]),
    "the key has another role": (caller, id) => admin(caller, `${KEYS}/${id}`, "PATCH", { role: "viewer" }),
    "the key has fewer scopes": (caller, id) => admin(caller, `${KEYS}/${id}`, "PATCH", { scopes: ["read"] }),
    "the key has other networks": (caller, id) =>
      admin(caller, `${KEYS}/${id}`, "PATCH", { allowed_ips: ["198.51.100.0/24"] }),
  };
  const AS_MUCH: Record<string, Change> = {
    "the role has more permissions": (caller) => putRole(caller, [...RIGHTS, "store.read"]),
    "the key has another name": (caller, id) => admin(caller, `${KEYS}/${id}`, "PATCH", { name: "renamed" }),
    "the key has networks with the address": (caller, id) =>
      admin(caller, `${KEYS}/${id}`, "PATCH", { allowed_ips: ["192.0.2.0/24"] }),
  };

  /** A key with a role, or a token that was allowed with it. */
  async function credential(kind: string) {
    const caller = await newCaller();
    await putRole(caller, RIGHTS);
    const made = await admin(caller, KEYS, "POST", { role: "shrinking", scopes: ["read", "write"] });
    const { id, key } = await made.json<{ id: string; key: string }>();
    const by: Record<string, string> =
      kind === "key"
        ? { "x-api-key": key }
        : { authorization: `Bearer ${(await newTokens({ ...caller, key })).access_token}` };
    const ask: Fetch = (path, { headers, ...more } = {}) =>
      send(path, { ...more, headers: { ...by, "cf-connecting-ip": "192.0.2.7", ...headers } });
    const thread = await newThread(ask);
    return { caller, id, ask, thread };
  }

  const cases = (changes: Record<string, Change>) =>
    Object.entries(changes).flatMap(([name, change]) => [
      ["key", name, change] as const,
      // The scopes of a token are those of its grant.
      ...(name.includes("scopes") ? [] : [["token", name, change] as const]),
    ]);

  it("ends its stream", async () => {
    const { caller, ask, thread } = await credential("token");
    const stream = await ask(`/threads/${thread}/stream`);
    await putRole(caller, ["threads.write", "runs.create"]);
    expect(await lastEvent(stream)).toBe(ENDED);
  });

  it.each(cases(LESS))("of a %s ends its socket: %s", async (kind, _, change) => {
    const { caller, id, ask, thread } = await credential(kind);
    const socket = await open(ask, thread);
    await change(caller, id);
    command(socket, "run.start", { assistant_id: "echo", input: { messages: [] } });
    expect((await socket.closed).code).toBe(4401);
    expect(socket.frames).toEqual([]);
    const runs = await caller.fetch(`/threads/${thread}/runs`);
    expect(await runs.json()).toEqual([]);
  });

  it.each(cases(AS_MUCH))("of a %s keeps its socket: %s", async (kind, _, change) => {
    const { caller, id, ask, thread } = await credential(kind);
    const socket = await open(ask, thread);
    await change(caller, id);
    command(socket);
    await vi.waitFor(() => expect(socket.frames).toHaveLength(1), POLL_MS);
    expect(socket.frames[0]).toContain('"success"');
    socket.socket.close();
  });
});

it("a user whom the deployment has removed reads no more", async () => {
  const known = new Set(["gil"]);
  deployUsers();
  const { projectExports: custom } = await import("../../src/deployment.ts");
  const auth = custom.auth as UserAuth;
  const handlers = auth["~handlerCache"];
  const { authenticate } = handlers;
  handlers.authenticate = (request) => {
    if (known.size === 0) throw Object.assign(new Error("Gone."), { status: 401 });
    return authenticate?.(request);
  };
  try {
    const gil = userCalled("gil");
    const ask: Fetch = (path, { body, headers } = {}) => gil.fetch(path, body, undefined, headers);
    const thread = await newThread(ask);
    const stream = await ask(`/threads/${thread}/stream`);
    const socket = await open(ask, thread);
    known.clear();
    forgetCredentials();
    command(socket);
    expect((await socket.closed).code).toBe(4401);
    expect(await lastEvent(stream)).toBe(ENDED);
  } finally {
    custom.auth = undefined;
  }
});

it("commands over a WebSocket count as requests do", async () => {
  const { ask } = await newKey(await newCaller());
  const caller = await newCaller();
  const thread = await newThread((path, options) => caller.fetch(path, options));
  const socket = await open((path, options) => caller.fetch(path, options), thread);
  const stub = threadObject(env, caller.workspaceId, thread);
  await runInDurableObject(stub, (instance) => {
    const { protocol } = instance as unknown as { protocol: { env: Env } };
    protocol.env = { ...protocol.env, KEY_LIMIT: { limit: async () => ({ success: false }) } };
  });
  for (let n = 0; n < 25; n += 1) command(socket);
  await expect.poll(() => socket.frames.length).toBe(25);
  expect(socket.frames.at(-1)).toContain("This credential has sent too many requests.");
  // The caller is refused over HTTP too, and another is not.
  expect((await ask("/threads/count", { body: {} })).status).toBe(200);
});
