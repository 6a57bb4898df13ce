/** A webhook that is a path of the project's own `app`: it is called in this server, for the user of the run. */
import "../../examples/demo/worker.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Client } from "@langchain/langgraph-sdk";
import { Hono } from "hono";
import { beforeEach, expect, it, vi } from "vitest";
import { threadsFor } from "../../src/automation/crons/fire.ts";
import { type CronRow, findCron } from "../../src/automation/crons/store.ts";
import { database } from "../../src/db/client.ts";
import { graphs, projectExports } from "../../src/deployment.ts";
import { readOwnPath } from "../../src/deliveries/receiver.ts";
import { sendOrDropDelivery } from "../../src/deliveries/send.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";
import * as pack from "../access/users/pack.ts";
import { rowsIn } from "../support/thread-tables.ts";
import { POLL_MS } from "../support/thorough.ts";

interface Got {
  id: string;
  body: Record<string, unknown>;
  signature: string | null;
  sees: string[];
}

let got: Got[] = [];
let statuses: (500 | 200)[] = [];

const app = new Hono()
  .use(async (c, next) => {
    await next();
    c.header("x-own", "yes");
  })
  .post("*", async (_c, next) => next())
  .post("/hooks/:id", async (c) => {
    const threads = await new Client().threads.search({ limit: 100 });
    got.push({
      id: c.req.param("id"),
      body: await c.req.json(),
      signature: c.req.header("weir-signature") ?? null,
      sees: threads.map(({ thread_id }) => thread_id),
    });
    return c.json({}, statuses.shift() ?? 200);
  })
  .get("/only-read", (c) => c.json({}))
  .use("/store/*", async (_c, next) => next())
  .all("/only-middleware", async (_c, next) => next())
  .post("/threads/:id/copy", async (_c, next) => next());

Object.assign(graphs, { echo: pack.whoami });
Object.assign(projectExports, { auth: pack.auth, app });

beforeEach(() => {
  got = [];
  statuses = [];
});

const user = (name: string, path: string, body?: unknown) =>
  send(path, { body, headers: { authorization: `Bearer user-${name}` } });
const filterById = (id: string) => got.filter((one) => one.id === id);

it("is called with the run, for its user, and signed", async () => {
  const thread = (await (await user("ada", "/threads", {})).json<{ thread_id: string }>()).thread_id;
  const other = (await (await user("bob", "/threads", {})).json<{ thread_id: string }>()).thread_id;
  const body = { assistant_id: "echo", input: {}, webhook: "/hooks/first?x=1" };
  expect(await (await user("ada", `/threads/${thread}/runs/wait`, body)).json()).toEqual({ who: "ada" });
  await vi.waitFor(() => expect(filterById("first")).toHaveLength(1), POLL_MS);
  const [{ body: run, sees } = { body: {}, sees: [] }] = filterById("first");
  expect(run).toMatchObject({ thread_id: thread, status: "success", values: { who: "ada" } });
  expect(sees).toContain(thread);
  expect(sees).not.toContain(other);
});

it("is tried again until it succeeds, with the same delivery", async () => {
  statuses = [500];
  const caller = await newCaller();
  const { secret } = await (await caller.fetch("/api/v1/webhook-secrets", { body: {} })).json<{ secret: string }>();
  expect(secret).toBeTruthy();
  await (
    await caller.fetch("/runs/wait", { body: { assistant_id: "echo", input: {}, webhook: "/hooks/again" } })
  ).text();
  await vi.waitFor(() => expect(filterById("again")).toHaveLength(2), { timeout: 15_000, interval: 100 });
  const [first, second] = filterById("again");
  expect(second?.body.delivery_id).toBe(first?.body.delivery_id);
  expect(second?.signature).toMatch(/^t=\d+,v1=/);
});

/** The rows of a thread's webhooks that are not delivered. */
const listWaiting = ({ workspaceId }: Caller, thread: string) =>
  runInDurableObject(env.THREAD.getByName(`${workspaceId}:${thread}`), (_, { storage }) =>
    rowsIn<{ body: string; attempts: number }>(storage, "SELECT body, attempts FROM outbox WHERE kind = 'webhook'"),
  );

const run = async (caller: Caller, thread: string, webhook: string) => {
  const body = { assistant_id: "echo", input: {}, webhook, if_not_exists: "create" };
  await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
};

it("is stored with its address, and shown as it was given", async () => {
  statuses = [500];
  const [caller, thread] = [await newCaller(), crypto.randomUUID()];
  await run(caller, thread, "/hooks/kept?x=1#part");
  await vi.waitFor(async () => expect(await listWaiting(caller, thread)).toMatchObject([{ attempts: 1 }]), POLL_MS);
  const [row] = await listWaiting(caller, thread);
  expect(JSON.parse(row?.body ?? "")).toMatchObject({
    url: "https://weir.test/hooks/kept?x=1",
    path: "/hooks/kept?x=1",
  });
  const [shown] = await (await caller.fetch(`/threads/${thread}/runs`)).json<[{ kwargs: object }]>();
  expect(shown.kwargs).toMatchObject({ webhook: "/hooks/kept?x=1" });
  expect(shown.kwargs).not.toHaveProperty("own_webhook");
});

it("of a cron is stored and shown in the same way, and called by its runs", async () => {
  const caller = await newCaller();
  const given = { assistant_id: "echo", schedule: "0 0 1 1 *", input: {}, webhook: "/hooks/cron" };
  const made = await (await caller.fetch("/runs/crons", { body: given })).json<{ cron_id: string; payload: object }>();
  expect(made.payload).toMatchObject({ webhook: "/hooks/cron" });
  expect(made.payload).not.toHaveProperty("own_webhook");
  const readStored = async () => (await findCron(database(env.DB), caller.workspaceId, made.cron_id)) as CronRow;
  const url = "https://weir.test/hooks/cron";
  expect((await readStored()).payload).toMatchObject({ webhook: url, own_webhook: { path: "/hooks/cron", url } });
  await threadsFor(env).start(await readStored(), { threadId: crypto.randomUUID(), runId: crypto.randomUUID() });
  await vi.waitFor(() => expect(filterById("cron")).toHaveLength(1), POLL_MS);
  const change = { method: "PATCH", body: { webhook: "https://hooks.example/cron" } };
  const changed = await (await caller.fetch(`/runs/crons/${made.cron_id}`, change)).json<{ payload: object }>();
  expect(changed.payload).toEqual({ ...made.payload, webhook: "https://hooks.example/cron" });
  expect(readOwnPath((await readStored()).payload)).toBeUndefined();
});

it("is no built-in route, also when the app passes the call on", async () => {
  const [caller, thread] = [await newCaller(), crypto.randomUUID()];
  await run(caller, thread, `/threads/${thread}/copy`);
  await vi.waitFor(async () => expect(await listWaiting(caller, thread)).toMatchObject([{ attempts: 1 }]), POLL_MS);
  expect(await (await caller.fetch("/threads/count", { body: {} })).json()).toBe(1);
  expect((await caller.fetch(`/threads/${thread}/copy`, { body: {} })).status).toBe(200);
});

it.each([
  ["/hooks/slash/", "slash"],
  ["/hooks/./dot", "dot"],
  ["/hooks/caf%C3%A9", "café"],
])("is found as the server finds it: %s", async (webhook, id) => {
  await run(await newCaller(), crypto.randomUUID(), webhook);
  await vi.waitFor(() => expect(filterById(id)).toHaveLength(1), POLL_MS);
});

it.each(["//", "//hooks/first", "/\\hooks/first", "/.//hooks/first", "/\t/hooks/first"])(
  "names no other host: %j",
  async (webhook) => {
    const caller = await newCaller();
    for (const [path, more] of [
      ["/runs", {}],
      ["/runs/crons", { schedule: "0 0 1 1 *" }],
    ] as const) {
      const answer = await caller.fetch(path, { body: { assistant_id: "echo", input: {}, webhook, ...more } });
      expect([path, answer.status]).toEqual([path, 422]);
      expect(await answer.json()).toMatchObject({ detail: expect.stringContaining("one slash") });
    }
  },
);

it("leaves a line in the log when its address may no longer be called", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  await sendOrDropDelivery(env, crypto.randomUUID(), {
    url: "https://10.0.0.1/",
    delivery: "d-1",
    headers: {},
    body: "{}",
  });
  expect(log.mock.calls.flat().join()).toContain("d-1");
  log.mockRestore();
});

it.each(["/only-read", "/only-middleware", "/store/items", "/elsewhere", "/threads/search", "/api/v1/api-keys"])(
  "no other path is called in this server: %s",
  async (webhook) => {
    const caller = await newCaller();
    const answer = await caller.fetch("/runs", { body: { assistant_id: "echo", input: {}, webhook } });
    // The address of the tests' server is not public.
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining("body.webhook") });
  },
);
