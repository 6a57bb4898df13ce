/** Requests that are repeated: after their run is gone, by another caller, and behind many others. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ADMIN_KEY, type Caller, newCaller, send as sendWithout } from "../../support/caller.ts";
import { GatedThread } from "../../support/gated-graphs.ts";
import { newThread, say } from "../client.ts";

type Json = Record<string, unknown>;
interface Sent {
  status: number;
  body: Json & { code?: string };
  text: string;
}

async function send(caller: Caller, path: string, body: unknown, key?: string, method = "POST"): Promise<Sent> {
  const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
  const response = await caller.fetch(path, { body, headers, method });
  const text = await response.text();
  let parsed: Json = {};
  if (response.headers.get("content-type")?.includes("json")) parsed = JSON.parse(text) as Json;
  return { status: response.status, body: parsed, text };
}

const runIds = async (caller: Caller, thread: string): Promise<string[]> =>
  (await (await caller.fetch(`/threads/${thread}/runs`)).json<{ run_id: string }[]>()).map(({ run_id }) => run_id);

const GONE = { status: 409, body: expect.objectContaining({ code: "run_deleted" }) };

it.each([
  ["stream", "deleted"],
  ["stream", "rolled back"],
  ["wait", "deleted"],
] as const)("a request for /runs/%s under a key does not run again when its run was %s", async (route, how) => {
  const thread = await GatedThread.make("gatedPlain");
  const { caller, id } = thread;
  const key = crypto.randomUUID();
  const request = async () => send(caller, `/threads/${id}/runs/${route}`, thread.toBody("one"), key);
  const remove = async () => {
    await request();
    const [run] = await runIds(caller, id);
    return thread.remove(run ?? "");
  };
  const rollBack = async () => {
    thread.close("speak");
    const first = request();
    await thread.reaches("speak");
    const [run] = await runIds(caller, id);
    const { status } = await thread.call(`runs/${run}/cancel?wait=true&action=rollback`, { method: "POST" });
    await first;
    thread.open("speak");
    return status;
  };
  expect(await (how === "deleted" ? remove() : rollBack())).toBe(204);
  for (const restarts of [false, true]) {
    if (restarts) await abortAllDurableObjects();
    expect(await request()).toMatchObject(GONE);
    expect(await runIds(caller, id)).toEqual([]);
  }
  expect((await send(caller, `/threads/${id}/runs/${route}`, thread.toBody("one"), crypto.randomUUID())).status).toBe(
    200,
  );
});

it("a thread that was deleted is not made again for a repeated run", async () => {
  const caller = await newCaller();
  const thread = crypto.randomUUID();
  const body = { assistant_id: "echo", input: say("hi"), if_not_exists: "create" };
  const [key, other] = [crypto.randomUUID(), crypto.randomUUID()];
  const request = async (by: string) => send(caller, `/threads/${thread}/runs/stream`, body, by);
  expect((await request(key)).status).toBe(200);
  expect((await send(caller, `/threads/${thread}`, undefined, undefined, "DELETE")).status).toBe(204);
  expect(await request(key)).toMatchObject(GONE);
  expect((await caller.fetch(`/threads/${thread}`)).status).toBe(404);
  // Another request makes it again. The repeated one does not run there, either.
  expect((await request(other)).status).toBe(200);
  await abortAllDurableObjects();
  expect(await request(key)).toMatchObject(GONE);
  expect(await runIds(caller, thread)).toHaveLength(1);
});

it("a stateless run under a key does not run again when its thread was deleted", async () => {
  const caller = await newCaller();
  const key = crypto.randomUUID();
  const request = async () =>
    send(caller, "/runs/wait", { assistant_id: "echo", input: say("hi"), on_completion: "keep" }, key);
  expect((await request()).status).toBe(200);
  const [found] = await (await caller.fetch("/threads/search", { body: {} })).json<{ thread_id: string }[]>();
  expect((await caller.fetch(`/threads/${found?.thread_id}`, { method: "DELETE" })).status).toBe(204);
  expect(await request()).toMatchObject(GONE);
});

const agui = (threadId: string, runId: string, content: string) => ({
  threadId,
  runId,
  state: {},
  messages: [{ id: crypto.randomUUID(), role: "user", content }],
  tools: [],
  context: [],
  forwardedProps: {},
});

it("an AG-UI request does not run again when its run was deleted, also long after", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const body = agui(thread, "run 1", "hi");
  expect((await send(caller, "/agui/echo", body)).status).toBe(200);
  const [run] = await runIds(caller, thread);
  expect((await caller.fetch(`/threads/${thread}/runs/${run}`, { method: "DELETE" })).status).toBe(204);
  expect(await send(caller, "/agui/echo", body)).toMatchObject(GONE);
  expect((await send(caller, "/agui/echo", agui(thread, "run 2", "hi"))).status).toBe(200);
});

/** Another credential of the workspace. */
async function colleagueOf({ workspaceId }: Caller): Promise<Caller> {
  const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": workspaceId };
  const made = await sendWithout("/api/v1/api-keys", { body: { name: "other" }, headers });
  const { key } = await made.json<{ key: string }>();
  return {
    workspaceId,
    key,
    fetch: (path, options = {}) => sendWithout(path, { ...options, headers: { "x-api-key": key, ...options.headers } }),
  };
}

const command = (content: string, id = 1) => ({
  id,
  method: "run.start",
  params: { assistant_id: "gatedPlain", input: say(content) },
});

it("two people who say the same have said it twice, and each repeats their own", async () => {
  const thread = await GatedThread.make("gatedPlain");
  thread.close("speak");
  const { caller, id } = thread;
  const colleague = await colleagueOf(caller);
  const start = async (by: Caller) =>
    ((await send(by, `/threads/${id}/commands`, command("yes"))).body.result as { run_id: string }).run_id;
  const [mine, theirs] = [await start(caller), await start(colleague)];
  expect(mine).not.toBe(theirs);
  expect([await start(caller), await start(colleague)]).toEqual([mine, theirs]);
  thread.open("speak");
  await thread.join(theirs);
  expect((await thread.state()).filter((text) => text === "yes")).toHaveLength(2);
});

it("two people who name their AG-UI runs alike have two runs", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  for (const by of [caller, await colleagueOf(caller)])
    expect((await send(by, "/agui/echo", agui(thread, "1", "yes"))).status).toBe(200);
  expect(await runIds(caller, thread)).toHaveLength(2);
});

it("a command that is repeated leads to its run behind many others, while it is open and after a restart", async () => {
  const thread = await GatedThread.make("gatedPlain");
  thread.close("speak");
  const { caller, id } = thread;
  const start = async (text: string, n: number) =>
    ((await send(caller, `/threads/${id}/commands`, command(text, n))).body.result as { run_id: string }).run_id;
  const first = await start("first", 1);
  for (let n = 2; n <= 8; n += 1) await start(`next ${n}`, n);
  expect(await start("first", 1)).toBe(first);
  await abortAllDurableObjects();
  expect(await start("first", 1)).toBe(first);
  expect(await runIds(caller, id)).toHaveLength(8);
  // It has ended, and others have been requested since.
  thread.open("speak");
  await thread.join(first);
  expect(await start("first", 1)).toBe(first);
});

it("a command whose run was rolled back does not run again when it is repeated", async () => {
  const thread = await GatedThread.make("gatedPlain");
  thread.close("speak");
  const { caller, id } = thread;
  const start = async () => (await send(caller, `/threads/${id}/commands`, command("first"))).body;
  const { run_id } = (await start()).result as { run_id: string };
  await thread.call(`runs/${run_id}/cancel?wait=true&action=rollback`, { method: "POST" });
  expect(await start()).toMatchObject({ type: "error" });
  expect(await runIds(caller, id)).toEqual([]);
});

it("a deleted thread leaves in D1 what repeated requests may derive, for a day", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await send(caller, `/threads/${thread}/runs/wait`, { assistant_id: "echo", input: say("hi") });
  const keyed = crypto.randomUUID();
  await send(caller, `/threads/${thread}/runs/wait`, { assistant_id: "echo", input: say("hi") }, keyed);
  const [run] = await runIds(caller, thread);
  await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
  const { results } = await env.DB.prepare(
    "SELECT key FROM idempotency_keys WHERE workspace_id = ? AND key LIKE 'deleted %'",
  )
    .bind(caller.workspaceId)
    .all<{ key: string }>();
  expect(results).toEqual([{ key: `deleted ${thread} ${run}` }]);
});
