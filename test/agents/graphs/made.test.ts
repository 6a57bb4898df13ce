/** Entries of the registry that are no compiled graphs: agents, and factories. */
import "../../../src/runtime/install.ts";
import { AIMessage } from "@langchain/core/messages";
import {
  END,
  entrypoint,
  InMemoryStore,
  interrupt,
  MemorySaver,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type Graph, type ServerRuntime, graphs } from "../../../src/deployment.ts";
import { makeGraph } from "../../../src/agents/graphs/graph.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, say } from "../../threads/client.ts";

const State = new StateSchema({ messages: MessagesValue });

/** A graph, not compiled, whose node `name` asks, and then answers. */
const builder = (name: string) =>
  new StateGraph(State)
    .addNode(name, () => ({ messages: [new AIMessage(`${name} received ${String(interrupt("Well?"))}`)] }))
    .addEdge(START, name)
    .addEdge(name, END);
const buildAsking = (name: string) => builder(name).compile() as Graph;

/** The functional API. */
const functional = entrypoint({ name: "functional", checkpointer: new MemorySaver() }, async (input: object) => ({
  messages: [new AIMessage(`functional received ${String(interrupt("Well?"))} with ${Object.keys(input).join()}`)],
}));

/** As `createAgent` makes it: an object with a few methods of its graph. */
class Agent {
  constructor(readonly graph: Graph) {}
  stream = async () => Promise.reject(new Error("Not the agent's."));
  getState = async () => Promise.reject(new Error("Not the agent's."));
}

interface Call extends Pick<ServerRuntime, "accessContext"> {
  node: unknown;
  context: unknown;
  executes: boolean;
  admin: string;
}
const calls: Call[] = [];

Object.assign(graphs, {
  wrapped: new Agent(buildAsking("wrapped")),
  uncompiled: builder("uncompiled"),
  promised: Promise.resolve(builder("promised")),
  making: () => builder("making"),
  owned: builder("owned").compile({ checkpointer: new MemorySaver(), store: new InMemoryStore() }),
  functional,
  nothing: { nodes: {}, edges: [] } as never,
  empty: async () => undefined as never,
  chosen: async (config: { configurable?: Record<string, unknown> }, env: Env & ServerRuntime) => {
    const { accessContext, executionRuntime, WEIR_ADMIN_KEY } = env;
    const node = config.configurable?.node;
    const context = executionRuntime?.context;
    calls.push({ accessContext, node, context, executes: executionRuntime !== null, admin: WEIR_ADMIN_KEY ?? "" });
    return new Agent(buildAsking(typeof node === "string" ? node : "usual"));
  },
});

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

interface State {
  next: string[];
  tasks: { interrupts: unknown[] }[];
  values: { messages: { content: string }[] };
}

async function waitForRun(thread: string, body: object): Promise<Record<string, unknown>> {
  return (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).json();
}

async function pauseThread(assistant_id: string, more: object = {}): Promise<string> {
  const thread = await newThread(caller);
  expect(await waitForRun(thread, { assistant_id, input: say("hi"), ...more })).toHaveProperty("__interrupt__");
  return thread;
}

async function update(thread: string, body: object): Promise<State> {
  const updated = await caller.fetch(`/threads/${thread}/state`, { body });
  expect([updated.status, await updated.text()]).toEqual([200, expect.any(String)]);
  return get<State>(caller, `/threads/${thread}/state`);
}

describe("an agent", () => {
  it("runs, shows its state, and takes updates and answers", async () => {
    const thread = await pauseThread("wrapped");
    expect(await get<State>(caller, `/threads/${thread}/state`)).toMatchObject({ next: ["wrapped"] });
    const values = { messages: [{ type: "human", content: "more" }] };
    expect((await update(thread, { values, as_node: "__start__" })).values.messages).toHaveLength(2);
    const ended = await waitForRun(thread, { assistant_id: "wrapped", command: { resume: "yes" } });
    expect(JSON.stringify(ended)).toContain("wrapped received");
  });

  it("is described as its graph", async () => {
    const { nodes } = await get<{ nodes: { id: string }[] }>(caller, "/assistants/wrapped/graph");
    expect(nodes.map(({ id }) => id)).toContain("wrapped");
    expect(await get(caller, "/assistants/wrapped/schemas")).toHaveProperty("graph_id", "wrapped");
  });
});

describe("a factory", () => {
  it("gets the config of the thread's last run to read and to update the state", async () => {
    const thread = await pauseThread("chosen", { config: { configurable: { node: "special" } } });
    const state = await get<State>(caller, `/threads/${thread}/state`);
    expect(state.next).toEqual(["special"]);
    expect(state.tasks[0]?.interrupts).toHaveLength(1);
    const [latest] = await get<State[]>(caller, `/threads/${thread}/history`);
    expect(latest?.next).toEqual(["special"]);
    const after = await update(thread, { values: say("instead"), as_node: "special" });
    expect([after.next, after.values.messages.at(-1)?.content]).toEqual([[], "instead"]);
  });

  it("receives the reason of the call, in addition to the environment", async () => {
    calls.length = 0;
    const context = { tone: "calm" };
    const thread = await pauseThread("chosen", { config: { configurable: { node: "told" } }, context });
    await get(caller, `/threads/${thread}/state`);
    await update(thread, { values: say("instead"), as_node: "told" });
    await get(caller, "/assistants/chosen/graph");
    const admin = "admin-key-of-the-tests";
    expect(calls).toContainEqual({ accessContext: "threads.create_run", node: "told", context, executes: true, admin });
    const reading = { context: undefined, executes: false, admin };
    for (const accessContext of ["threads.read", "threads.update"] as const)
      expect(calls).toContainEqual({ accessContext, node: "told", ...reading });
    expect(calls).toContainEqual({ accessContext: "assistants.read", node: undefined, ...reading });
  });
});

describe("an export of a project", () => {
  it.each(["uncompiled", "promised", "making", "owned", "functional"])(
    "runs and resumes when it is %s",
    async (name) => {
      const thread = await pauseThread(name);
      const ended = await waitForRun(thread, { assistant_id: name, command: { resume: "yes" } });
      expect(JSON.stringify(ended)).toContain(`${name} received yes`);
    },
  );

  it("keeps its threads in Weir, and says once that its own checkpointer and store are not used", async () => {
    const warn = vi.spyOn(console, "warn");
    await makeGraph("twice", {}, {} as Env, "assistants.read");
    const owned = builder("twice").compile({ checkpointer: new MemorySaver(), store: new InMemoryStore() });
    Object.assign(graphs, { twice: owned });
    for (let i = 0; i < 3; i += 1) await makeGraph("twice", {}, {} as Env, "assistants.read");
    const said = warn.mock.calls.map(([line]) => String(line)).filter((line) => line.includes("twice"));
    expect(said).toEqual([expect.stringContaining("a checkpointer and a store of its own")]);
    warn.mockRestore();
  });

  it("compiles a StateGraph once", async () => {
    const makeUncompiled = async () => makeGraph("uncompiled", {}, {} as Env, "assistants.read");
    expect(await makeUncompiled()).toBe(await makeUncompiled());
  });

  it("fails its runs with what it is when it is no graph", async () => {
    for (const [name, what] of [
      ["nothing", "an object with the members nodes, edges"],
      ["empty", "undefined"],
    ]) {
      const thread = await newThread(caller);
      const ended = await waitForRun(thread, { assistant_id: name, input: say("hi") });
      expect(JSON.stringify(ended)).toContain(`Graph \\"${name}\\" is not a LangGraph graph: it is ${what}.`);
    }
  });
});
