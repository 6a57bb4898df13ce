/** What a graph binds with `withConfig` holds until the assistant or the run says otherwise, and what they say reaches the graph. */
import "../../../src/runtime/install.ts";
import { AIMessage } from "@langchain/core/messages";
import { mergeConfigs } from "@langchain/core/runnables";
import {
  END,
  type LangGraphRunnableConfig,
  MessagesValue,
  Send,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Graph, graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread } from "../client.ts";

type Json = Record<string, unknown>;

const Count = new StateSchema({ messages: MessagesValue, n: z.number().default(0) });
/** Forty steps: more than LangGraph's own limit. */
const buildForty = () =>
  new StateGraph(Count)
    .addNode("step", ({ n }) => ({ n: n + 1, ...(n === 39 && { messages: [new AIMessage("Done.")] }) }))
    .addEdge(START, "step")
    .addConditionalEdges("step", ({ n }) => (n < 40 ? "step" : END), ["step", END])
    .compile();

const Seen = new StateSchema({ seen: z.record(z.string(), z.unknown()).default({}) });
const buildSeen = () =>
  new StateGraph(Seen)
    .addNode("read", (_state, config: LangGraphRunnableConfig) => {
      const { context, configurable = {}, metadata = {}, tags } = config;
      const { maxConcurrency } = config as { maxConcurrency?: number };
      return { seen: { context, configurable, metadata, tags, maxConcurrency } };
    })
    .addEdge(START, "read")
    .addEdge("read", END)
    .compile();

/** Six tasks of one step, and the most that worked at once. */
const Together = new StateSchema({ most: z.number().default(0) });
let working = 0;
let most = 0;
const together = new StateGraph(Together)
  .addNode("task", async () => {
    most = Math.max(most, (working += 1));
    await new Promise((resolve) => setTimeout(resolve, 5));
    working -= 1;
    return {};
  })
  .addNode("count", () => ({ most }))
  .addConditionalEdges(START, () => Array.from({ length: 6 }, () => new Send("task", {})), ["task"])
  .addEdge("task", "count")
  .addEdge("count", END)
  .compile();

/** As LangChain's `createAgent` makes it: `withConfig` is kept beside the graph, and merged into the config of each call. */
class Agent {
  readonly #graph: Graph;
  readonly #bound: object;
  constructor(graph: Graph, bound: object = {}) {
    this.#graph = graph;
    this.#bound = bound;
  }
  get graph(): Graph {
    return this.#graph;
  }
  withConfig = (config: object) => new Agent(this.#graph, mergeConfigs(this.#bound, config));
  streamEvents(state: unknown, config: object): unknown {
    return this.#graph.streamEvents(state, { ...mergeConfigs(this.#bound, config), version: "v2" } as never);
  }
}

Object.assign(graphs, {
  forty: buildForty().withConfig({ recursionLimit: 100 }),
  forty_plain: buildForty(),
  forty_agent: new Agent(buildForty() as Graph).withConfig({ recursionLimit: 100 }).withConfig({ tags: ["of agent"] }),
  seen: buildSeen(),
  seen_bound: buildSeen().withConfig({ context: { kept: "bound", changed: "bound" }, tags: ["bound"] } as never),
  together,
});

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const post = async (path: string, body: object): Promise<Json> => (await caller.fetch(path, { body })).json();
const run = async (assistant_id: string, more: object = {}): Promise<Json> =>
  post("/runs/wait", { assistant_id, input: {}, ...more });
const look = async (assistant_id: string, more: object = {}) =>
  (await run(assistant_id, more)).seen as Record<string, Json>;
const newAssistant = async (graph_id: string, more: object): Promise<Json> =>
  post("/assistants", { graph_id, ...more });
const LIMITED = { __error__: { error: "GraphRecursionError", message: expect.any(String) as string } };

describe("a recursion limit that a graph is bound to", () => {
  it("holds where neither assistant nor run has one", async () => {
    expect(await run("forty")).toMatchObject({ n: 40 });
    expect(await run("forty_agent")).toMatchObject({ n: 40 });
    expect(await run("forty_plain")).toMatchObject(LIMITED);
  });

  it("is under that of the assistant, which is under that of the run", async () => {
    const { assistant_id: low } = await newAssistant("forty", { config: { recursion_limit: 10 } });
    expect(await run(String(low))).toMatchObject(LIMITED);
    expect(await run(String(low), { config: { recursion_limit: 60 } })).toMatchObject({ n: 40 });
    expect(await run("forty", { config: { recursion_limit: 10 } })).toMatchObject(LIMITED);
  });

  it("holds for each protocol", async () => {
    const thread = await newThread(caller);
    const params = { assistant_id: "forty", input: {} };
    expect(await post(`/threads/${thread}/commands`, { id: 1, method: "run.start", params })).toMatchObject({
      type: "success",
    });
    const [started] = await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`);
    expect(await get(caller, `/threads/${thread}/runs/${started?.run_id}/join`)).toMatchObject({ n: 40 });

    const message = { messageId: "m", role: "user", kind: "message", parts: [{ kind: "text", text: "Go." }] };
    expect(
      await post("/a2a/forty", { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }),
    ).toMatchObject({ result: { status: { state: "completed" } } });

    const call = { name: "forty", arguments: { messages: [{ role: "user", content: "Go." }] } };
    const headers = { accept: "application/json, text/event-stream" };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call };
    const called = await caller.fetch("/mcp", { body, headers });
    expect(await called.text()).toContain("Done.");

    const input = { threadId: crypto.randomUUID(), runId: "r", state: {}, tools: [], context: [], forwardedProps: {} };
    const messages = [{ id: "u", role: "user", content: "Go." }];
    const events = await caller.fetch("/agui/forty", {
      body: { ...input, messages },
      headers: { accept: "text/event-stream" },
    });
    expect(await events.text()).toMatch(/RUN_FINISHED/);
  });
});

describe("a context that a graph is bound to", () => {
  it("holds, and a given one is over it", async () => {
    const bound = { kept: "bound", changed: "bound" };
    expect((await look("seen_bound")).context).toEqual(bound);
    // A thread's id among the configurables is no context: `useStream` always sends it.
    const config = { configurable: { thread_id: crypto.randomUUID() } };
    expect((await look("seen_bound", { config })).context).toEqual(bound);
    const context = { changed: "by the run" };
    expect((await look("seen_bound", { context })).context).toEqual({ kept: "bound", changed: "by the run" });
  });

  it("is empty where nobody gives one", async () => {
    expect((await look("seen")).context).toEqual({});
  });
});

describe("a run's config", () => {
  it("reaches the graph: metadata, concurrency, tags", async () => {
    const config = { metadata: { of_config: "c", both: "c" }, max_concurrency: 3, tags: ["t"], run_name: "Named" };
    const seen = await look("seen_bound", { config, metadata: { both: "run" } });
    expect(seen.metadata).toMatchObject({ of_config: "c", both: "run" });
    expect(seen).toMatchObject({ maxConcurrency: 3, tags: ["bound", "t"] });
  });

  it("limits how many tasks work at once", async () => {
    expect(await run("together", { config: { max_concurrency: 2 } })).toMatchObject({ most: 2 });
    most = 0;
    const { assistant_id } = await newAssistant("together", { config: { max_concurrency: 3 } });
    expect(await run(String(assistant_id))).toMatchObject({ most: 3 });
  });

  it("names the run in traces and events", async () => {
    const body = { assistant_id: "seen", input: {}, config: { run_name: "Named" }, stream_mode: ["events"] };
    const events = await caller.fetch("/runs/stream", { body });
    expect(await events.text()).toContain('"name":"Named"');
  });

  it("is in the metadata of checkpoints", async () => {
    const thread = await newThread(caller);
    await post(`/threads/${thread}/runs/wait`, { assistant_id: "seen", input: {}, config: { metadata: { of: "c" } } });
    expect(await get(caller, `/threads/${thread}/state`)).toMatchObject({ metadata: { of: "c" } });
  });
});

describe("context and configurable", () => {
  it("count as both where a run has one of them", async () => {
    const context = { tone: "low" };
    expect(await look("seen", { context })).toMatchObject({ context, configurable: context });
    expect(await look("seen", { config: { configurable: context } })).toMatchObject({ context, configurable: context });
    const both = { context, config: { configurable: { flavour: "salt" } } };
    expect(await look("seen", both)).toMatchObject({ context, configurable: { flavour: "salt" } });
  });

  it("are shown as both, in runs and in assistants", async () => {
    const context = { tone: "low" };
    const thread = await newThread(caller);
    const made = await post(`/threads/${thread}/runs`, { assistant_id: "seen", input: {}, context });
    expect(made.kwargs).toMatchObject({ context, config: { configurable: context } });
    const mirrored = { context, config: { configurable: context } };
    expect(await newAssistant("seen", { context })).toMatchObject(mirrored);
    const assistant = await newAssistant("seen", { config: { configurable: context, tags: ["t"] } });
    expect(assistant).toMatchObject({ context, config: { configurable: context, tags: ["t"] } });
    const id = String(assistant.assistant_id);
    // The run's own is over the assistant's, whichever name either uses.
    expect(await look(id, { context: { tone: "high" } })).toMatchObject({
      context: { tone: "high" },
      configurable: { tone: "high" },
    });
  });

  it("must not disagree in one request", async () => {
    const given = { config: { configurable: { tone: "low" } }, context: { tone: "high" } };
    const refused = { status: 400, detail: expect.stringContaining("tone") as string };
    expect(await run("seen", given)).toMatchObject(refused);
    expect(await newAssistant("seen", given)).toMatchObject(refused);
    const { assistant_id } = await newAssistant("seen", {});
    const patched = await caller.fetch(`/assistants/${String(assistant_id)}`, { method: "PATCH", body: given });
    expect(patched.status).toBe(400);
    expect(await look("seen", { ...given, context: { tone: "low" } })).toMatchObject({ context: { tone: "low" } });
  });
});
