/** A webhook that is a path of the project's own `app`: it is called in this server, for the user of the run. */
import "../../src/index.ts";
import { Client } from "@langchain/langgraph-sdk";
import { Hono } from "hono";
import { beforeEach, expect, it, vi } from "vitest";
import { graphs } from "../../src/graphs/index.ts";
import { custom } from "../../src/users/registry.ts";
import { newCaller, send } from "../support/caller.ts";
import * as pack from "../users/pack.ts";

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
  .get("/only-read", (c) => c.json({}));

Object.assign(graphs, { echo: pack.whoami });
Object.assign(custom, { auth: pack.auth, app });

beforeEach(() => {
  got = [];
  statuses = [];
});

const user = (name: string, path: string, body?: unknown) =>
  send(path, { body, headers: { authorization: `Bearer user-${name}` } });
const by = (id: string) => got.filter((one) => one.id === id);

it("is called with the run, for its user, and signed", async () => {
  const thread = (await (await user("ada", "/threads", {})).json<{ thread_id: string }>()).thread_id;
  const other = (await (await user("bob", "/threads", {})).json<{ thread_id: string }>()).thread_id;
  const body = { assistant_id: "echo", input: {}, webhook: "/hooks/first?x=1" };
  expect(await (await user("ada", `/threads/${thread}/runs/wait`, body)).json()).toEqual({ who: "ada" });
  await vi.waitFor(() => expect(by("first")).toHaveLength(1));
  const [{ body: run, sees } = { body: {}, sees: [] }] = by("first");
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
  await vi.waitFor(() => expect(by("again")).toHaveLength(2), { timeout: 15_000, interval: 100 });
  const [first, second] = by("again");
  expect(second?.body.delivery_id).toBe(first?.body.delivery_id);
  expect(second?.signature).toMatch(/^t=\d+,v1=/);
});

it.each(["/only-read", "/elsewhere", "/threads/search", "/api/v1/api-keys"])(
  "no other path is called in this server: %s",
  async (webhook) => {
    const caller = await newCaller();
    const answer = await caller.fetch("/runs", { body: { assistant_id: "echo", input: {}, webhook } });
    // The address of the tests' server is not public.
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining("body.webhook") });
  },
);
