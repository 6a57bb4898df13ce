/** Threads that wait while another version of their graph is deployed: they continue whole, are migrated, or are refused. */
import "../../../src/runtime/install.ts";
import { Annotation, END, interrupt, Send, START, StateGraph } from "@langchain/langgraph";
import { Topic } from "@langchain/langgraph/channels";
import { beforeAll, describe, expect, it } from "vitest";
import { graphs, Lazy } from "../../../src/deployment.ts";
import type { Migration } from "../../../src/agents/graphs/compatibility.ts";
import type { CheckPage, DescribedGraph } from "../../../src/system/deploys/schema.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";
import { get, newThread, stream } from "../../threads/client.ts";

type Json = Record<string, unknown>;

interface Shape {
  /** The name of the node that asks. */
  ask?: string;
  /** The key that the answer is in. */
  answer?: string;
  /** Another node behind. */
  more?: boolean;
  nested?: string;
  sent?: string;
  /** What holds the answer: one value, a reducer, a topic. */
  list?: boolean;
  topic?: boolean;
}

/** One node asks a question, another runs beside it, a third follows both. */
function build({ ask = "ask", answer = "answer", more, nested, sent, list, topic }: Shape = {}) {
  const State = Annotation.Root({
    log: Annotation<string[]>({ reducer: (held, given) => held.concat(given), default: () => [] }),
    [answer]: list ? Annotation<unknown>({ reducer: (held) => held }) : Annotation<unknown>(),
  });
  if (topic) Object.assign(State.spec, { [answer]: () => new Topic() });
  const question = (name: string) => () => {
    const given = interrupt<string, string>(`${name}?`);
    return { log: [`${name}:${given}`], [answer]: given };
  };
  const inner = new StateGraph(State)
    .addNode(nested ?? "inner", question(nested ?? "inner"))
    .addEdge(START, nested ?? "inner")
    .compile();
  const graph = new StateGraph(State) as unknown as StateGraph<unknown, Json, Json, string>;
  graph
    .addNode("first", () => ({ log: ["first"] }))
    .addNode(ask, nested ? (inner as never) : question(ask))
    .addNode("side", () => ({ log: ["side"] }))
    .addNode("last", () => ({ log: ["last"] }))
    .addEdge(START, "first");
  if (sent) {
    graph.addNode(sent, (state: Json) => ({
      log: [`sent:${String(state.item)}:${interrupt<string, string>("send?")}`],
    }));
    graph.addConditionalEdges("first", () => [new Send(sent, { item: 1 })], [sent]).addEdge(sent, "last");
    return graph.addEdge("first", ask).addEdge("first", "side").addEdge(ask, END).addEdge("last", END).compile();
  }
  graph.addEdge("first", ask).addEdge("first", "side").addEdge([ask, "side"], "last");
  if (more) graph.addNode("more", () => ({ log: ["more"] })).addEdge("last", "more");
  return graph.addEdge(more ? "more" : "last", END).compile();
}

const createGraph = (shape: Shape, migrations?: Migration[], version?: string) =>
  new Lazy<never>("./graph.ts:graph", async () => ({ graph: build(shape), migrations, version }));

describe("a thread that waits while another version is deployed", () => {
  let caller: Caller;
  let n = 0;
  beforeAll(async () => {
    caller = await newCaller();
  });

  /** A thread of a graph of its own that waits for an answer. */
  async function park(shape: Shape = {}, version?: string, input: Json = {}) {
    n += 1;
    const id = `deploy-${n}`;
    graphs[id] = createGraph(shape, undefined, version);
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: id, input: { log: ["in"], ...input } });
    const state = await get<{ next: string[]; metadata: Json; interrupts: { id: string }[] }>(
      caller,
      `/threads/${thread}/state`,
    );
    return { id, thread, state };
  }

  const resume = (thread: string, id: string, answer: unknown = "Ada") =>
    caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: id, command: { resume: answer } } });

  const readDescribed = async () => {
    const response = await send("/graphs", { headers: { "x-api-key": ADMIN_KEY } });
    return (await response.json<{ graphs: Record<string, DescribedGraph> }>()).graphs;
  };

  async function check(id: string, shape: Shape, migrations?: Migration[]): Promise<CheckPage> {
    const deployed = graphs[id];
    graphs[id] = createGraph(shape, migrations);
    const { [id]: candidate } = await readDescribed();
    graphs[id] = deployed as never;
    const all = { ...(await readDescribed()), [id]: candidate };
    const response = await caller.fetch("/graphs/check", { body: { graphs: all } });
    expect(response.status).toBe(200);
    return response.json<CheckPage>();
  }

  it("is compared with the deployed graphs when the request names none", async () => {
    const { id, thread } = await park();
    const readCompared = async () => (await caller.fetch("/graphs/check", { body: {} })).json<CheckPage>();
    expect(await readCompared()).toMatchObject({ counts: { [id]: { checked: 1, cannot_continue: 0 } }, threads: [] });
    const deployed = graphs[id];
    delete graphs[id];
    const without = await readCompared();
    graphs[id] = deployed as never;
    expect(without).toMatchObject({
      counts: { [id]: { cannot_continue: 1 } },
      threads: [{ thread_id: thread, graph_id: id }],
    });
  });

  it("continues on a graph that has more", async () => {
    const { id, thread, state } = await park();
    expect(state.next).toEqual(["ask"]);
    expect(state.metadata.graph_fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect((await check(id, { more: true })).threads).toEqual([]);
    graphs[id] = createGraph({ more: true });
    const values = await (await resume(thread, id)).json<Json>();
    expect(values.log).toEqual(["in", "first", "ask:Ada", "side", "last", "more"]);
  });

  const broken: [name: string, before: Shape, after: Shape, reason: string][] = [
    ["the node that asks is renamed", {}, { ask: "approve" }, 'node "ask" is gone'],
    [
      "a nested node is renamed",
      { nested: "inner" },
      { nested: "within" },
      'node "inner" of the graph in "ask" is gone',
    ],
    ["the node of a sent task is renamed", { sent: "work" }, { sent: "task" }, 'node "work" is gone'],
  ];
  for (const [name, before, after, reason] of broken) {
    it(`refuses to continue when ${name}`, async () => {
      const { id, thread, state } = await park(before);
      const page = await check(id, after);
      const [stuck] = page.threads.filter(({ thread_id }) => thread_id === thread);
      expect(stuck?.reasons).toContain(reason);
      expect(page.counts[id]).toEqual({ checked: 1, cannot_continue: 1, migrated: 0, unknown: 0 });
      graphs[id] = createGraph(after);
      const refused = await resume(thread, id);
      expect(refused.status).toBe(409);
      expect((await refused.json<{ detail: string }>()).detail).toContain(reason);
      const kept = await get<{ next: string[]; interrupts: unknown[]; values: Json }>(
        caller,
        `/threads/${thread}/state`,
      );
      expect(kept.next.sort()).toEqual(state.next.sort());
      expect(kept.interrupts).toHaveLength(state.interrupts.length);
      expect(kept.interrupts).toEqual(expect.arrayContaining(state.interrupts));
      const { status, interrupts } = await get<{ status: string; interrupts: Json }>(caller, `/threads/${thread}`);
      expect(status).toBe("interrupted");
      expect(Object.values(interrupts).flat()).toHaveLength(state.interrupts.length);
      // The version that asked continues it, as if nothing had been deployed.
      graphs[id] = createGraph(before);
      const answers = Object.fromEntries(state.interrupts.map((one) => [one.id, "Ada"]));
      expect(await (await resume(thread, id, answers)).json()).toMatchObject({ log: expect.arrayContaining(["last"]) });
      expect((await get<{ next: string[] }>(caller, `/threads/${thread}/state`)).next).toEqual([]);
    });
  }

  it("names a key that is gone, and one of another kind", async () => {
    const { id, thread } = await park({}, undefined, { answer: "early" });
    const breaksOn = async (shape: Shape) =>
      (await check(id, shape)).threads.find(({ thread_id }) => thread_id === thread)?.breaks;
    expect(await breaksOn({ answer: "reply" })).toContainEqual({ kind: "channel", name: "answer", path: [] });
    expect(await breaksOn({ topic: true })).toEqual([
      { kind: "channel_kind", name: "answer", path: [], from: "LastValue", to: "Topic" },
    ]);
    expect(await breaksOn({ list: true })).toBeUndefined();
    graphs[id] = createGraph({ answer: "reply" });
    expect((await resume(thread, id)).status).toBe(409);
  });

  it("fails a run that was accepted before the deploy, and keeps the question", async () => {
    const { id, thread, state } = await park();
    const run = { assistant_id: id, command: { resume: "Ada" }, after_seconds: 1 };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body: run })).json<{ run_id: string }>();
    graphs[id] = createGraph({ ask: "approve" });
    const ended = await (await caller.fetch(`/threads/${thread}/runs/${run_id}/join`)).json<{ __error__?: Json }>();
    expect(ended.__error__).toEqual({
      error: "GraphChanged",
      message: `The deployed graph "${id}" cannot continue this thread: node "ask" is gone, edge "ask+side -> last" is gone.`,
    });
    expect((await get<{ interrupts: unknown[] }>(caller, `/threads/${thread}/state`)).interrupts).toEqual(
      state.interrupts,
    );
    graphs[id] = createGraph({});
    expect((await (await resume(thread, id)).json<Json>()).answer).toBe("Ada");
  });

  it("runs a new input although a node waits that is gone", async () => {
    const { id, thread } = await park();
    graphs[id] = createGraph({ ask: "approve" });
    const run = { assistant_id: id, input: { log: ["again"] } };
    const response = await caller.fetch(`/threads/${thread}/runs/wait`, { body: run });
    expect(response.status).toBe(200);
    expect((await get<{ next: string[] }>(caller, `/threads/${thread}/state`)).next).toEqual(["approve"]);
  });

  it("is migrated once, at its next use, with what ended tasks wrote", async () => {
    const { id, thread, state } = await park({}, "1");
    const seen: unknown[] = [];
    const migration: Migration = {
      from: "1",
      migrate: (old) => {
        seen.push(old);
        return { values: { log: [...(old.values.log as string[]), "migrated"] }, next: ["approve"] };
      },
    };
    expect((await check(id, { ask: "approve", answer: "reply" }, [migration])).counts[id]?.migrated).toBe(1);
    graphs[id] = createGraph({ ask: "approve", answer: "reply" }, [migration], "2");
    const response = await resume(thread, id, { [state.interrupts[0]!.id]: "Ada" });
    expect(response.status).toBe(200);
    const values = await response.json<Json>();
    expect(seen).toEqual([{ values: { log: ["in", "first", "side"] }, next: ["ask"], questions: ["ask?"] }]);
    expect(values).toEqual({ log: ["in", "first", "side", "migrated", "approve:Ada"], reply: "Ada" });
    const history = await get<{ metadata: Json }[]>(caller, `/threads/${thread}/history?limit=20`);
    const sources = history.map(({ metadata }) => metadata.source);
    expect(sources.filter((source) => source === "migration")).toHaveLength(1);
    await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: id, input: { log: [] } } });
    expect(seen).toHaveLength(1);
  });

  it.each(["a run", "an update"])("is migrated by %s that names its latest checkpoint", async (what) => {
    const { id, thread } = await park({}, "1");
    const { checkpoint } = await get<{ checkpoint: Json }>(caller, `/threads/${thread}/state`);
    const migrate: Migration["migrate"] = ({ values }) => ({ values: { log: values.log }, next: ["approve"] });
    graphs[id] = createGraph({ ask: "approve", answer: "reply" }, [{ from: "1", migrate }], "2");
    if (what === "an update") {
      const body = { values: { log: ["by hand"] }, checkpoint };
      await caller.fetch(`/threads/${thread}/state`, { body });
    }
    const run = { assistant_id: id, command: { resume: "Ada" }, ...(what === "a run" && { checkpoint }) };
    const response = await caller.fetch(`/threads/${thread}/runs/wait`, { body: run });
    const { log, reply } = await response.json<{ log: string[]; reply: string }>();
    expect([response.status, log, reply]).toEqual([200, expect.arrayContaining(["approve:Ada"]), "Ada"]);
    const history = await get<{ metadata: Json }[]>(caller, `/threads/${thread}/history?limit=20`);
    expect(history.filter(({ metadata }) => metadata.source === "migration")).toHaveLength(1);
  });

  it("fails the run of a migration that names a node which is not there, and keeps the question", async () => {
    const { id, thread } = await park({}, "1");
    graphs[id] = createGraph({ ask: "approve" }, [{ from: "1", migrate: () => ({ next: ["nowhere"] }) }], "2");
    const answer = await (await resume(thread, id)).json<{ __error__?: { message: string } }>();
    expect(answer.__error__?.message).toBe('The migration returns the node "nowhere", which the graph does not have.');
    graphs[id] = createGraph({}, undefined, "1");
    expect((await (await resume(thread, id)).json<Json>()).answer).toBe("Ada");
  });
});
