/** Code of a project that calls its own server: `new Client()` without a URL, in a graph and in a route. */
import "../../examples/demo/worker.ts";
import { Client } from "@langchain/langgraph-sdk";
import { getLogger } from "@langchain/langgraph-sdk/logging";
import { type LangGraphRunnableConfig, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { Hono } from "hono";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { graphs, projectExports } from "../../src/deployment.ts";
import { MAX_NESTED } from "../../src/http/loopback.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";
import * as pack from "../access/users/pack.ts";

const State = new StateSchema({ target: z.string().optional(), answer: z.unknown() });

/** A graph that runs another one through its own server, and says what that answers. */
const calling = new StateGraph(State)
  .addNode("call", async ({ target = "whoami" }, config: LangGraphRunnableConfig) => {
    getLogger().info("calling", { target });
    const client = new Client({ apiKey: "a-key-of-langsmith" });
    const thread = await client.threads.create();
    const answer = await client.runs.wait(thread.thread_id, target, { input: { target }, raiseError: false });
    return { answer: { answer, thread, by: config.configurable?.run_id as unknown } };
  })
  .addEdge(START, "call")
  .compile();

/** A graph that uses a call which needs more than running graphs does. */
const prying = new StateGraph(State)
  .addNode("pry", async () => {
    const loopback = (globalThis as Record<symbol, unknown>)[Symbol.for("langgraph_api:fetch")] as typeof fetch;
    const url = (globalThis as Record<symbol, unknown>)[Symbol.for("langgraph_api:url")] as string;
    const statuses = ["/api/v1/api-keys", "/api/v1/bulk-exports", "/assistants/whoami"].map(
      async (path) => (await loopback(`${url}${path}`)).status,
    );
    return { answer: await Promise.all(statuses) };
  })
  .addEdge(START, "pry")
  .compile();

const app = new Hono()
  .get("/mine", async (c) => c.json(await new Client().threads.search()))
  .get("/around", async (c) => {
    const loopback = (globalThis as Record<symbol, unknown>)[Symbol.for("langgraph_api:fetch")] as typeof fetch;
    return loopback("http://weir.internal/around", { headers: { "x-turn": c.req.header("x-turn") ?? "" } });
  });

Object.assign(graphs, { whoami: pack.whoami, calling, prying });
Object.assign(projectExports, { auth: pack.auth, app });

interface Called {
  answer: { answer: Record<string, unknown>; thread: { thread_id: string; metadata: Record<string, unknown> } };
}

let key: Caller;
beforeAll(async () => {
  key = await newCaller();
});

const user = (name: string, path: string, body?: unknown) =>
  send(path, { body, headers: { authorization: `Bearer user-${name}` } });
const run = (assistant_id: string, input: object = {}) => ({ assistant_id, input });

describe("a Client without a URL", () => {
  it("acts in a graph for the user of the run", async () => {
    const { answer } = await (await user("ada", "/runs/wait", run("calling"))).json<Called>();
    expect(answer.answer).toEqual({ who: "ada" });
    expect(answer.thread.metadata).toMatchObject({ owner: "ada" });
    expect((await user("ada", `/threads/${answer.thread.thread_id}`)).status).toBe(200);
    expect((await user("bob", `/threads/${answer.thread.thread_id}`)).status).toBe(404);
  });

  it("acts in a graph for the workspace of the key that started the run", async () => {
    const { answer } = await (await key.fetch("/runs/wait", { body: run("calling") })).json<Called>();
    expect(answer.answer).toEqual({ who: "anonymous" });
    expect((await key.fetch(`/threads/${answer.thread.thread_id}`)).status).toBe(200);
    const other = await newCaller();
    expect((await other.fetch(`/threads/${answer.thread.thread_id}`)).status).toBe(404);
  });

  it("acts in a route for the caller of the route", async () => {
    const made = await (await user("eve", "/threads", {})).json<{ thread_id: string }>();
    const mine = await (await user("eve", "/mine")).json<{ thread_id: string }[]>();
    expect(mine.map(({ thread_id }) => thread_id)).toEqual([made.thread_id]);
    expect(await (await user("mallory", "/mine")).json()).toEqual([]);
  });

  it("may run graphs, and no more", async () => {
    const { answer } = await (await key.fetch("/runs/wait", { body: run("prying") })).json<{ answer: number[] }>();
    expect(answer).toEqual([403, 403, 200]);
  });

  it("does not continue without end when graphs start each other", async () => {
    const ended = await (await key.fetch("/runs/wait", { body: run("calling", { target: "calling" }) })).text();
    expect(ended).toContain(`nested more than ${MAX_NESTED} deep`);
    expect(ended.match(/"target":"calling"/g)?.length ?? 0).toBeLessThanOrEqual(MAX_NESTED + 1);
    const around = await user("ada", "/around");
    expect([around.status, await around.text()]).toEqual([409, expect.stringContaining("nested more than")]);
  });

  it("says where it works", async () => {
    const client = new Client({ callerOptions: { maxRetries: 0 } });
    await expect(client.threads.create()).rejects.toThrow("works in a run or a request of this server");
  });
});

describe("getLogger", () => {
  it("logs a line of JSON with the place in the run", async () => {
    const log = vi.spyOn(console, "log");
    await key.fetch("/runs/wait", { body: run("calling") });
    const lines = log.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('"calling"'));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual({
      level: "info",
      run_id: expect.any(String),
      thread_id: expect.any(String),
      assistant_id: expect.any(String),
      graph_id: "calling",
      langgraph_node: "call",
      target: "whoami",
      message: "calling",
    });
    log.mockRestore();
  });
});
