/** A request under an Idempotency-Key whose storage fails: the client repeats it, and its work is done once. */
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { message1, rpc } from "../../protocols/a2a/rpc.ts";
import { human } from "../../protocols/streaming/client.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";
import { type Failing, failStorage } from "../../support/failing-storage.ts";
import { type MultipartPart, NOON, runParts, sendMultipart, sentRun, readStoredRuns } from "../../support/traces.ts";
import { get, say } from "../../threads/client.ts";
import { insertsInto } from "../../support/thread-tables.ts";

let caller: Caller;
let restore = () => {};
beforeEach(async () => {
  caller = await newCaller();
});
afterEach(() => {
  restore();
  vi.useRealTimers();
});

async function fail(failing: Failing): Promise<void> {
  restore = await runInDurableObject(env.THREAD.getByName("none:none"), (_, { storage }) =>
    failStorage(storage.sql, failing),
  );
}

const headers = { "idempotency-key": "k" };
/** More than the time after which a request without an answer counts as failed. */
const ABANDONED_MS = 121_000;
const create = () => caller.fetch("/assistants", { body: { graph_id: "echo", name: "made once" }, headers });
const count = async () => (await caller.fetch("/assistants/count", { body: { name: "made once" } })).json();

it("is answered when its answer cannot be kept", async () => {
  await fail({ d1: (statements) => /^update "idempotency_keys"/i.test(statements) });
  expect((await create()).status).toBe(200);
  restore();
  // Until it is known that the first request has ended, another one must not do its work again.
  expect((await create()).status).toBe(409);
  expect(await count()).toBe(1);
});

it("keeps its answer when the first try to keep it fails", async () => {
  let left = 1;
  await fail({ d1: (statements) => /^update "idempotency_keys"/i.test(statements) && left-- > 0 });
  const first = await (await create()).json();
  const again = await create();
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await again.json()).toEqual(first);
});

it("holds its key when the answer to the claim is lost", async () => {
  let left = 1;
  await fail({ d1Answer: (statements) => /^insert into "idempotency_keys"/i.test(statements) && left-- > 0 });
  expect((await create()).status).toBe(200);
  expect(left).toBeLessThanOrEqual(0);
  expect(await count()).toBe(1);
});

/** Sends a request whose answer is not kept, and sends it again after the time in which the first one counts as under way. */
async function sendTwice(send: () => Promise<Response>): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  await fail({ d1: (statements) => /^update "idempotency_keys"/i.test(statements) });
  expect(await (await send()).json()).toMatchObject({ rejected: 0, errors: [] });
  restore();
  vi.setSystemTime(Date.now() + ABANDONED_MS);
  const again = await send();
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([202, null]);
}

const unnamed = { name: "unnamed", run_type: "chain", inputs: {}, start_time: NOON / 1000, session_name: "tests" };
it.each([
  ["/runs", unnamed, 1],
  ["/runs/batch", { post: [unnamed, unnamed] }, 2],
])("stores trace runs without ids once: %s", async (path, body, count) => {
  await sendTwice(() => caller.fetch(path, { body, headers }));
  expect(await readStoredRuns(caller)).toHaveLength(count);
});

it("stores feedback without an id once that arrives with its run", async () => {
  const run = sentRun(NOON);
  const feedback: MultipartPart = { name: `feedback.${run.id}`, data: JSON.stringify({ key: "short", score: 0 }) };
  await sendTwice(() => sendMultipart(caller, [...runParts("post", run), feedback], { headers }));
  expect(await get(caller, `/feedback?run=${run.id}`)).toMatchObject([{ key: "short", run_id: run.id }]);
});

const dataset = { name: "made once" };
const destination = { destination_type: "r2", display_name: "made once", config: {} };
it.each<[table: string, path: string, body: object, list: (all: Caller) => Promise<unknown[]>]>([
  [
    "crons",
    "/runs/crons",
    { assistant_id: "echo", schedule: "0 12 29 2 *", input: {} },
    (from) => search(from, "/runs/crons/search"),
  ],
  [
    "assistants",
    "/assistants",
    { graph_id: "echo", name: "made once" },
    (from) => search(from, "/assistants/search", { name: "made once" }),
  ],
  ["datasets", "/api/v1/datasets", dataset, (from) => get(from, "/api/v1/datasets")],
  [
    "export_destinations",
    "/api/v1/bulk-exports/destinations",
    destination,
    (from) => get(from, "/api/v1/bulk-exports/destinations"),
  ],
])("makes one row of %s when the answer of the database is lost", async (table, path, body, list) => {
  let left = 1;
  await fail({ d1Answer: (statements) => new RegExp(`insert into "${table}"`, "i").test(statements) && left-- > 0 });
  expect((await caller.fetch(path, { body, headers })).status).toBeGreaterThanOrEqual(500);
  const made = await caller.fetch(path, { body, headers });
  expect(made.status).toBe(200);
  expect(left).toBeLessThanOrEqual(0);
  const { id, cron_id, assistant_id } = await made.json<Record<string, string>>();
  expect(await list(caller)).toMatchObject([
    { ...(id && { id }), ...(cron_id && { cron_id }), ...(assistant_id && { assistant_id }) },
  ]);
});

it.each<[table: string, path: string, body: object]>([
  ["api_keys", "/api/v1/api-keys", { name: "made once" }],
  ["webhook_secrets", "/api/v1/webhook-secrets", {}],
  ["invitations", "/api/v1/invitations", { role: "viewer" }],
])("makes one row of %s when its answer, which has the secret, is lost", async (table, path, body) => {
  const before = (await get<unknown[]>(caller, path)).length;
  let left = 1;
  await fail({ d1Answer: (statements) => new RegExp(`insert into "${table}"`, "i").test(statements) && left-- > 0 });
  expect((await caller.fetch(path, { body, headers })).status).toBeGreaterThanOrEqual(500);
  expect(left).toBeLessThanOrEqual(0);
  const again = await caller.fetch(path, { body, headers });
  expect([again.status, await again.text()]).toEqual([409, expect.stringContaining("was shown once")]);
  expect(await get<unknown[]>(caller, path)).toHaveLength(before + 1);
});

it("makes a member once when the answer is lost", async () => {
  let left = 1;
  await fail({ d1Answer: (statements) => /insert into "members"/i.test(statements) && left-- > 0 });
  const add = () => caller.fetch("/api/v1/members", { body: { subject: "ann", role: "viewer" }, headers });
  expect([(await add()).status >= 500, (await add()).status]).toEqual([true, 201]);
  expect(await get<unknown[]>(caller, "/api/v1/members")).toHaveLength(1);
});

it("rolls a key once when the answer is lost", async () => {
  const made = await caller.fetch("/api/v1/api-keys", { body: { name: "rolled once" } });
  const { id } = await made.json<{ id: string }>();
  let left = 1;
  await fail({ d1Answer: (statements) => /insert into "api_keys"/i.test(statements) && left-- > 0 });
  const roll = () => caller.fetch(`/api/v1/api-keys/${id}/roll`, { body: {}, headers });
  expect([(await roll()).status >= 500, (await roll()).status]).toEqual([true, 409]);
  expect(await get<unknown[]>(caller, "/api/v1/api-keys")).toHaveLength(3);
});

it.each([{}, { id: crypto.randomUUID() }])("makes one workspace when the answer is lost: %j", async (given) => {
  const name = crypto.randomUUID();
  const make = (more: object = {}, key = name) =>
    send("/api/v1/workspaces", {
      body: { ...given, name, ...more },
      headers: { "x-api-key": ADMIN_KEY, "idempotency-key": key },
    });
  let left = 1;
  await fail({ d1Answer: (statements) => /^insert into "workspaces"/i.test(statements) && left-- > 0 });
  expect((await make()).status).toBeGreaterThanOrEqual(500);
  expect(left).toBeLessThanOrEqual(0);
  const made = await make();
  const first = await made.json<{ id: string }>();
  expect([made.status, first]).toMatchObject([201, { name, ...given }]);
  expect(await (await make()).json()).toEqual(first);
  const all = await send("/api/v1/workspaces", { headers: { "x-api-key": ADMIN_KEY } });
  expect((await all.json<{ name: string }[]>()).filter((one) => one.name === name)).toHaveLength(1);
  expect((await make({ id: first.id }, `${name} again`)).status).toBe(409);
});

const search = async (from: Caller, path: string, body = {}) => (await from.fetch(path, { body })).json<unknown[]>();

/** The write of a new run fails once. What earlier tests' runs and traces still write does not. */
async function failThreadOnce(): Promise<void> {
  let left = 1;
  await fail({ object: (statement) => insertsInto("runs", statement) && left-- > 0 });
}

it("may be repeated when an A2A answer says that the server failed", async () => {
  const params = { message: message1("hello") };
  await failThreadOnce();
  expect((await rpc(caller, "SendMessage", params, { agent: "echo", headers })).error?.code).toBe(-32603);
  const { result } = await rpc(caller, "SendMessage", params, { agent: "echo", headers });
  expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
});

it("may be repeated when the answer to a command says that the server failed", async () => {
  const thread = crypto.randomUUID();
  const params = { assistant_id: "echo", input: human("hello") };
  const send = async () => {
    const answer = await caller.fetch(`/threads/${thread}/commands`, {
      body: { id: 1, method: "run.start", params },
      headers,
    });
    return answer.json<{ type: string; error?: string }>();
  };
  await failThreadOnce();
  expect(await send()).toMatchObject({ type: "error", error: "unknown_error" });
  expect(await send()).toMatchObject({ type: "success" });
  expect(await get<unknown[]>(caller, `/threads/${thread}/runs`)).toHaveLength(1);
});

it("may be repeated when an MCP answer says that the server failed", async () => {
  const call = async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: say("hello") } };
    return (await caller.fetch("/mcp", { body, headers: { ...headers, accept: "application/json" } })).json<{
      error?: { code: number };
    }>();
  };
  await failThreadOnce();
  expect((await call()).error?.code).toBe(-32603);
  expect((await call()).error).toBeUndefined();
});
