/** Every method of A2A, MCP and the streaming protocol x every kind of caller, over HTTP and a WebSocket. */
import { ClientRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { A2A_METHODS } from "../../src/protocols/a2a/routes.ts";
import { sha256 } from "../../src/lib/crypto.ts";
import { COMMAND_NAMES } from "../../src/protocols/streaming/commands.ts";
import { newTokens, post } from "../access/oauth/person.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";
import { firstText } from "./first-text.ts";
import { A2A_PARAMS, COMMAND_PARAMS, MCP_PARAMS, methodCalls } from "./methods.ts";
import type { RouteCall } from "./route-calls.ts";
import { createAsk, type Json, makeThings, type Things } from "./things.ts";

const MARKER = "marker51c2";
const NAMES = Object.keys(methodCalls({} as Things));
const SOCKETS = ["/threads", "/api/threads"];

let owner: Caller;
let other: Caller;
let things: Things;
/** Headers without a valid credential. */
const refused: Record<string, { headers: Record<string, string>; status: number }> = {};

beforeAll(async () => {
  [owner, other] = [await newCaller(), await newCaller()];
  things = await makeThings(createAsk(owner), MARKER);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const expired = await newTokens(owner);
  await env.DB.prepare("update oauth_tokens set expires_at = 0 where hash = ?")
    .bind(sha256(expired.access_token))
    .run();
  const revoked = await newTokens(owner);
  await post("/oauth/revoke", { client_id: revoked.client, token: revoked.access_token });
  const key = async (body: Json) => createAsk(owner)("POST", "/api/v1/api-keys", body);
  const deleted = await key({});
  await createAsk(owner)("DELETE", `/api/v1/api-keys/${String(deleted.id)}`);
  const expiredKey = await key({});
  await env.DB.prepare("update api_keys set expires_at = 1 where id = ?").bind(String(expiredKey.id)).run();
  const distant = await key({ allowed_ips: ["192.0.2.0/24"] });
  const reader = await key({ scopes: ["read"] });
  Object.assign(refused, {
    "no key": { headers: {}, status: 401 },
    "wrong key": { headers: { "x-api-key": "weir_wrong" }, status: 401 },
    "deleted key": { headers: { "x-api-key": String(deleted.key) }, status: 401 },
    "expired key": { headers: { "x-api-key": String(expiredKey.key) }, status: 401 },
    "key of another network": { headers: { "x-api-key": String(distant.key) }, status: 403 },
    "expired token": { headers: bearer(expired.access_token), status: 401 },
    "revoked token": { headers: bearer(revoked.access_token), status: 401 },
    "key without the scope": { headers: { "x-api-key": String(reader.key) }, status: 403 },
    "token without the scope": {
      headers: bearer((await newTokens(owner, { scope: "read" })).access_token),
      status: 403,
    },
    "other workspace's id": { headers: { "x-api-key": other.key, "x-tenant-id": owner.workspaceId }, status: 403 },
  });
});

async function answer({ method, path, body }: RouteCall, headers: Record<string, string>) {
  const response = await send(path, { method, body, headers });
  return { status: response.status, text: await firstText(response) };
}

/** Whether the answer of a protocol says that the call failed. */
function hasFailed(text: string): boolean {
  const { error, result } = JSON.parse(text.startsWith("{") ? text : (/^data: ?(.*)$/m.exec(text)?.[1] ?? "{}"));
  return error !== undefined || result?.isError === true;
}

describe("the table of methods", () => {
  it("has every method that the server has", async () => {
    expect(Object.keys(A2A_PARAMS).sort()).toEqual(A2A_METHODS.toSorted());
    expect(Object.keys(COMMAND_PARAMS).sort()).toEqual(COMMAND_NAMES.toSorted());
    const known: string[] = [];
    for (const { shape } of ClientRequestSchema.options) {
      const method = [...shape.method.values][0] as string;
      const body = { jsonrpc: "2.0", id: 1, method, params: {} };
      const { text } = await answer({ method: "POST", path: "/mcp", body }, { "x-api-key": owner.key });
      if (!text.includes("-32601")) known.push(method);
    }
    expect(Object.keys(MCP_PARAMS).sort()).toEqual(known.toSorted());
  });
});

/** Methods that answer the same to all callers in a workspace, and lists, which are empty. */
const FREE = new Set(
  "initialize ping tools/list resources/list resources/templates/list prompts/list logging/setLevel completion/complete"
    .split(" ")
    .map((method) => `MCP ${method}`),
);

describe.each(NAMES)("%s", (name) => {
  it("is refused without a valid credential", async () => {
    const call = methodCalls(things)[name] as RouteCall;
    const got: Record<string, number> = {};
    for (const [who, { headers }] of Object.entries(refused)) got[who] = (await answer(call, headers)).status;
    expect(got).toEqual(Object.fromEntries(Object.entries(refused).map(([who, { status }]) => [who, status])));
  });

  it("gives another workspace nothing of this one", async () => {
    const call = methodCalls(things)[name] as RouteCall;
    const { status, text } = await answer(call, { "x-api-key": other.key });
    expect(status).toBeLessThan(500);
    expect(text).not.toContain(MARKER);
    expect(FREE.has(name) || hasFailed(text)).toBe(true);
  });
});

describe.each(SOCKETS)("a WebSocket under %s", (under) => {
  const open = (path: string, headers: Record<string, string>) =>
    send(`${under}/${things.thread_id}${path}`, { headers: { upgrade: "websocket", ...headers } });

  it.each(["/stream", "/stream/events"])("%s is refused without a valid credential", async (path) => {
    const got: Record<string, number> = {};
    for (const [who, { headers }] of Object.entries(refused)) got[who] = (await open(path, headers)).status;
    expect(got).toEqual(Object.fromEntries(Object.entries(refused).map(([who, { status }]) => [who, status])));
  });

  it("gives another workspace nothing of this one", async () => {
    const { webSocket: socket } = await open("/stream/events", { "x-api-key": other.key });
    if (!socket) throw new Error("There is no socket.");
    const frames: string[] = [];
    socket.addEventListener("message", ({ data }) => void frames.push(String(data)));
    socket.accept();
    const names = Object.keys(COMMAND_PARAMS);
    for (const [id, method] of names.entries()) {
      socket.send(JSON.stringify({ id, method, params: COMMAND_PARAMS[method]?.(things) }));
    }
    await expect
      .poll(() => frames.filter((frame) => /^\{"type":"(success|error)"/.test(frame)).length)
      .toBe(names.length);
    socket.close();
    expect(frames.join("\n")).not.toContain(MARKER);
    const succeeded = frames.map((frame) => JSON.parse(frame) as Json).filter(({ type }) => type === "success");
    expect(succeeded.map(({ id }) => names[Number(id)])).toEqual(["subscription.subscribe"]);
  });
});
