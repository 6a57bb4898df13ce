/** Graphs of all kinds wait while a version is deployed that has all they need: they continue. */
import "../../../src/runtime/install.ts";
import { Annotation, entrypoint, getPreviousState, interrupt, START, StateGraph, task } from "@langchain/langgraph";
import { DeltaChannel } from "@langchain/langgraph/channels";
import { beforeAll, describe, expect, it } from "vitest";
import { graphs, Lazy } from "../../../src/deployment.ts";
import type { Migration } from "../../../src/agents/graphs/compatibility.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread } from "../../threads/client.ts";

type Json = Record<string, unknown>;
type Node = (state: Json) => Json;
interface State {
  next: string[];
  values: Json;
  interrupts: { id: string; value: unknown }[];
}

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const deploy = (id: string, graph: unknown, migrations?: Migration[], version?: string) => {
  graphs[id] = new Lazy<never>("./graph.ts:graph", async () => ({ graph, migrations, version }));
};

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (held, given) => held.concat(given), default: () => [] }),
  note: Annotation<unknown>(),
});
const Shorter = Annotation.Root({ log: State.spec.log });

const builder = (state: unknown = State) =>
  new StateGraph(state as never) as unknown as StateGraph<unknown, Json, Json, string>;
const logs =
  (name: string): Node =>
  () => ({ log: [name] });
const asks =
  (name: string): Node =>
  () => ({ log: [`${name}:${String(interrupt(`${name}?`))}`] });

async function run(thread: string, id: string, more: Json) {
  const response = await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: id, ...more } });
  return { status: response.status, values: await response.json<Json>() };
}
const readState = (thread: string) => get<State>(caller, `/threads/${thread}/state`);
const resume = (answer: unknown) => ({ command: { resume: answer } });

/** A thread that waits in the first version, when the second is deployed. */
async function parkThread(before: unknown, after: unknown, input: unknown = { log: [] }, more: Json = {}) {
  const id = `kind-${crypto.randomUUID()}`;
  deploy(id, before);
  const thread = await newThread(caller);
  const first = await run(thread, id, { input, ...more });
  deploy(id, after);
  return { id, thread, first, state: await readState(thread) };
}

describe("what has ended needs nothing", () => {
  const inner = (name: string, state: unknown) =>
    builder(state)
      .addNode(name, () => ({ log: [name], note: "held" }))
      .addEdge(START, name)
      .compile();
  const outer = (name: string, state: unknown) =>
    builder(Shorter)
      .addNode("ask", asks("ask"))
      .addNode("sub", inner(name, state) as never)
      .addEdge(START, "ask")
      .addEdge(START, "sub")
      .compile();

  it("a nested graph that has ended beside a question", async () => {
    const { id, thread } = await parkThread(outer("inner", State), outer("within", Shorter));
    const { status, values } = await run(thread, id, resume("yes"));
    expect({ status, values }).toMatchObject({ status: 200 });
    expect(values.log).toHaveLength(2);
  });

  it("a nested graph of a nested graph that has ended beside a question", async () => {
    const two = (name: string, state: unknown) =>
      builder(Shorter)
        .addNode("deep", outer(name, state) as never)
        .addEdge(START, "deep")
        .compile();
    const { id, thread } = await parkThread(two("inner", State), two("within", Shorter));
    expect((await run(thread, id, resume("yes"))).status).toBe(200);
  });

  it("a graph that keeps its state, and whose node is gone", async () => {
    const keeps = builder(Shorter)
      .addNode("inner", logs("inner"))
      .addEdge(START, "inner")
      .compile({ checkpointer: true });
    const before = builder(Shorter)
      .addNode("sub", keeps as never)
      .addNode("ask", asks("ask"))
      .addEdge(START, "sub")
      .addEdge("sub", "ask")
      .compile();
    const after = builder(Shorter).addNode("ask", asks("ask")).addEdge(START, "ask").compile();
    const { id, thread } = await parkThread(before, after);
    const { status, values } = await run(thread, id, resume("yes"));
    expect({ status, values }).toMatchObject({ status: 200 });
  });

  it("but a key whose value is replayed from earlier steps is needed", async () => {
    const Delta = () =>
      new DeltaChannel<string[], string[]>((held, given) => held.concat(...given), { initialValue: () => [] } as never);
    const Held = Annotation.Root({ ...Shorter.spec });
    Object.assign(Held.spec, { steps: Delta });
    const graph = (state: unknown) => builder(state).addNode("ask", asks("ask")).addEdge(START, "ask").compile();
    const { id, thread } = await parkThread(graph(Held), graph(Shorter), { log: [], steps: ["one"] });
    expect((await run(thread, id, resume("yes"))).status).toBe(409);
    const other = await parkThread(graph(Held), graph(Shorter), { log: ["in"] });
    expect((await run(other.thread, other.id, resume("yes"))).status).toBe(200);
  });

  it("a key that holds null", async () => {
    const graph = (state: unknown) => builder(state).addNode("ask", asks("ask")).addEdge(START, "ask").compile();
    const { id, thread } = await parkThread(graph(State), graph(Shorter), { log: [], note: null });
    const { status, values } = await run(thread, id, resume("yes"));
    expect({ status, values }).toMatchObject({ status: 200 });
  });
});

describe("other kinds of graphs", () => {
  it("a function", async () => {
    const double = task("double", async (n: number) => n * 2);
    const flow = (more: string) =>
      entrypoint("flow", async (n: number) => {
        const before = getPreviousState<{ said: string }>()?.said ?? "none";
        const doubled = await double(n);
        return { said: `${before}/${doubled}:${String(interrupt("ok?"))}${more}` };
      });
    const { id, thread } = await parkThread(flow(""), flow("!"), 4);
    const { status, values } = await run(thread, id, resume("yes"));
    expect({ status, values }).toEqual({ status: 200, values: { said: "none/8:yes!" } });
  });

  it("a function that is migrated keeps its input, and what it returned before", async () => {
    const flow = (more: string) =>
      entrypoint(`flow`, async (n: number) => {
        const before = getPreviousState<{ said: string }>()?.said ?? "none";
        return { said: `${before}/${n}:${String(interrupt("ok?"))}${more}` };
      });
    const id = `kind-${crypto.randomUUID()}`;
    deploy(id, flow(""), undefined, "1");
    const thread = await newThread(caller);
    await run(thread, id, { input: 4 });
    await run(thread, id, resume("yes"));
    await run(thread, id, { input: 5 });
    const nested = entrypoint({ name: "flow2" }, async (n: number) => {
      return { said: `${getPreviousState<{ said: string }>()?.said ?? "none"}/${n}:${String(interrupt("ok?"))}!` };
    });
    deploy(id, nested, [{ from: "1", migrate: () => ({}) }], "2");
    const { status, values } = await run(thread, id, resume("no"));
    expect({ status, values }).toEqual({ status: 200, values: { said: "none/4:yes/5:no!" } });
  });

  it("a node behind a breakpoint, and one that an update chose", async () => {
    const graph = (more: boolean) => {
      const made = builder().addNode("a", logs("a")).addNode("b", logs("b")).addEdge(START, "a").addEdge("a", "b");
      if (more) made.addNode("c", logs("c")).addEdge("b", "c");
      return made.compile({ interruptBefore: ["b"] });
    };
    const { id, thread } = await parkThread(graph(false), graph(true));
    const body = { values: { log: ["set"] }, as_node: "a" };
    expect((await caller.fetch(`/threads/${thread}/state`, { body })).status).toBe(200);
    const { status, values } = await run(thread, id, {});
    expect({ status, values }).toMatchObject({ status: 200, values: { log: ["a", "set", "b", "c"] } });
  });

  it("a deferred node that waits is migrated", async () => {
    const graph = (late: string) =>
      builder()
        .addNode("a", logs("a"))
        .addNode("b", asks("b"))
        .addNode(late, logs(late), { defer: true })
        .addEdge(START, "a")
        .addEdge(START, "b")
        .addEdge("a", late)
        .addEdge("b", late)
        .compile();
    const { id, thread } = await parkThread(graph("late"), graph("late"));
    deploy(id, graph("late"), [{ from: "1", migrate: () => ({}) }]);
    const state = await readState(thread);
    const print = (state as unknown as { metadata: Json }).metadata.graph_fingerprint as string;
    const other = builder()
      .addNode("a", logs("a"))
      .addNode("b", asks("b"))
      .addNode("late", logs("late"), { defer: true })
      .addNode("more", logs("more"))
      .addEdge(START, "a")
      .addEdge(START, "b")
      .addEdge("a", "late")
      .addEdge("b", "late")
      .addEdge("late", "more")
      .compile();
    deploy(id, other, [{ from: print, migrate: () => ({}) }]);
    const { status, values } = await run(thread, id, resume("yes"));
    expect({ status, values }).toMatchObject({ status: 200, values: { log: ["a", "b:yes", "late", "more"] } });
    const again = await newThread(caller);
    deploy(id, graph("late"), undefined, "x");
    await run(again, id, { input: { log: [] } });
    deploy(id, other, [{ from: "x", migrate: () => ({ next: ["late"] }) }]);
    expect((await run(again, id, {})).values).toMatchObject({ log: ["a", "late", "more"] });
  });

  it("keys with a colon are migrated", async () => {
    const Colon = Annotation.Root({ ...Shorter.spec, "a:b": Annotation<string>() });
    const graph = (more: boolean) => {
      const made = builder(Colon).addNode("ask", asks("ask")).addEdge(START, "ask");
      if (more) made.addNode("more", logs("more")).addEdge("ask", "more");
      return made.compile();
    };
    const { id, thread } = await parkThread(graph(false), graph(true), { log: [], "a:b": "held" });
    const { metadata } = (await readState(thread)) as unknown as { metadata: Json };
    deploy(id, graph(true), [{ from: String(metadata.graph_fingerprint), migrate: () => ({}) }]);
    const { values } = await run(thread, id, resume("yes"));
    expect(values).toEqual({ log: ["ask:yes", "more"], "a:b": "held" });
  });
});

describe("several questions after a migration", () => {
  const graph = (more: boolean) => {
    const made = builder().addNode("x", asks("x")).addNode("y", asks("y")).addEdge(START, "x").addEdge(START, "y");
    if (more) made.addNode("more", logs("more")).addEdge("x", "more");
    return made.compile();
  };

  it("get new ids from a run without an input, and are answered by these", async () => {
    const id = `kind-${crypto.randomUUID()}`;
    deploy(id, graph(false), undefined, "1");
    const thread = await newThread(caller);
    await run(thread, id, { input: { log: [] } });
    deploy(id, graph(true), [{ from: "1", migrate: () => ({}) }], "2");
    await run(thread, id, {});
    const { interrupts } = await readState(thread);
    expect(interrupts).toHaveLength(2);
    const answers = Object.fromEntries(interrupts.map(({ id: one, value }) => [one, `to ${String(value)}`]));
    const { values } = await run(thread, id, resume(answers));
    expect(values).toEqual({ log: ["x:to x?", "y:to y?", "more"] });
  });

  it("wait as before when the run that migrated has failed", async () => {
    const id = `kind-${crypto.randomUUID()}`;
    const flaky = { fails: true };
    const buildGraph = (more: boolean) => {
      const made = builder()
        .addNode("x", () => {
          if (more && flaky.fails) throw new Error("flaky");
          return asks("x")({});
        })
        .addEdge(START, "x");
      if (more) made.addNode("more", logs("more")).addEdge("x", "more");
      return made.compile();
    };
    deploy(id, buildGraph(false), undefined, "1");
    const thread = await newThread(caller);
    await run(thread, id, { input: { log: [] } });
    const { interrupts } = await readState(thread);
    deploy(id, buildGraph(true), [{ from: "1", migrate: () => ({}) }], "2");
    const failed = await run(thread, id, resume({ [interrupts[0]!.id]: "Ada" }));
    expect(failed.values.__error__).toMatchObject({ message: "flaky" });
    flaky.fails = false;
    const { values } = await run(thread, id, resume({ [interrupts[0]!.id]: "Ada" }));
    expect(values).toEqual({ log: ["x:Ada", "more"] });
  });
});
