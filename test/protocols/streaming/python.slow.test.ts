/** What the Python SDK gets of the same log. */
import "../../support/graphs.ts";
import "../../support/streaming-graphs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ALL, command, type Event, human, isEnd, ofRoot, read } from "./client.ts";

const python = { "user-agent": "langgraph-sdk-py/0.4.3" };
const PROJECTIONS = { channels: ["values", "messages", "lifecycle"] };
const WATCHER = { channels: ["lifecycle", "input"] };

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

async function runGraph(assistant_id: string, text: string): Promise<string> {
  const thread = crypto.randomUUID();
  await command(caller, thread, "run.start", { assistant_id, input: human(text) });
  return thread;
}

const rootEnd = async (thread: string, filter: Record<string, unknown>, headers = {}) =>
  (await read(caller, thread, filter, { headers })).at(-1)?.params.data;

const listNamespaces = (events: Event[], method: string) => [
  ...new Set(events.filter((event) => event.method === method).map(({ params }) => params.namespace.join("|"))),
];

describe("the namespace of a message and a tool call", () => {
  it("is its graph's, and a plain node is no graph", async () => {
    const thread = await runGraph("agent", "What is 17 * 23?");
    const events = await read(caller, thread, { channels: ALL }, { headers: python });
    expect(listNamespaces(events, "messages")).toEqual([""]);
    expect(listNamespaces(events, "tools")).toEqual([""]);
    expect(listNamespaces(events, "lifecycle")).toEqual([""]);
    const exact = { channels: ["messages", "lifecycle"], namespaces: [[]], depth: 0 };
    expect(listNamespaces(await read(caller, thread, exact, { headers: python }), "messages")).toEqual([""]);
  });

  it("is its node's for other clients, and either by a header", async () => {
    const thread = await runGraph("agent", "What is 17 * 23?");
    const dialect = (name: string) => ({ headers: { ...python, "x-weir-dialect": name } });
    const usual = await read(caller, thread);
    expect(listNamespaces(usual, "messages")).not.toContain("");
    expect(await read(caller, thread, { channels: ALL }, dialect("javascript"))).toEqual(usual);
    expect(listNamespaces(await read(caller, thread, { channels: ALL }, dialect("python")), "messages")).toEqual([""]);
    const unknown = await caller.fetch(`/threads/${thread}/stream`, { body: { channels: ALL }, ...dialect("cobol") });
    expect(unknown.status).toBe(422);
  });

  it("is the subagent's, which begins and ends once", async () => {
    const thread = await runGraph("research", "Research rivers and lakes");
    const events = await read(caller, thread, { channels: ALL }, { headers: python });
    const lifecycle = events.filter(({ method, params }) => method === "lifecycle" && params.namespace.length > 0);
    const byGraph = Map.groupBy(lifecycle, ({ params }) => params.namespace.join("|"));
    expect(byGraph.size).toBeGreaterThan(0);
    for (const [graph, own] of byGraph) {
      expect(own.map(({ params }) => params.data.event)).toEqual(["started", "completed"]);
      expect(listNamespaces(events, "values")).toContain(graph);
    }
    const spoken = listNamespaces(events, "messages");
    for (const graph of spoken.filter(Boolean)) expect([...byGraph.keys()]).toContain(graph);
  });
});

it("a node's message without text is none, and is one for other clients", async () => {
  const thread = await runGraph("speaker", "go");
  const readSaid = async (headers = {}) => {
    const events = await read(caller, thread, { channels: ["messages", "lifecycle"] }, { headers });
    const messages = events.filter(({ method }) => method === "messages").map(({ params }) => params.data);
    return {
      begun: messages.flatMap(({ event, id }) => (event === "message-start" ? [id] : [])),
      ended: messages.filter(({ event }) => event === "message-finish").length,
    };
  };
  expect(await readSaid(python)).toEqual({ begun: ["said"], ended: 1 });
  expect(await readSaid()).toEqual({ begun: ["said", "called"], ended: 2 });
});

it("a named custom event has its members beside its name, and as its payload", async () => {
  const events = await read(caller, await runGraph("progress", "go"), { channels: ["custom:flat", "lifecycle"] });
  const custom = events.filter(({ method }) => method === "custom").map(({ params }) => params.data);
  expect(custom).toEqual([1, 2].map((step) => ({ name: "flat", step, payload: { name: "flat", step } })));
});

describe("the end of a paused run", () => {
  it("is a failure after a cancellation", async () => {
    const thread = await runGraph("actor", "forever");
    const [run] = await (await caller.fetch(`/threads/${thread}/runs`)).json<{ run_id: string }[]>();
    await caller.fetch(`/threads/${thread}/runs/${run?.run_id}/cancel`, { method: "POST" });
    const failed = { event: "failed", error: "The run was cancelled." };
    expect(await rootEnd(thread, WATCHER, python)).toMatchObject(failed);
    expect(await rootEnd(thread, PROJECTIONS, python)).toMatchObject(failed);
    expect(await rootEnd(thread, WATCHER)).toMatchObject({ event: "interrupted" });
  });

  it("is a pause where the client can answer, and an end for its projections", async () => {
    const thread = await runGraph("moody", "hello");
    expect(await rootEnd(thread, WATCHER, python)).toMatchObject({ event: "interrupted" });
    expect(await rootEnd(thread, PROJECTIONS, python)).toMatchObject({ event: "completed" });
    expect(ofRoot(await read(caller, thread, PROJECTIONS))).toEqual(["running", "interrupted"]);
  });

  it("is an end at a breakpoint", async () => {
    const thread = (await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>()).thread_id;
    const body = { assistant_id: "echo", input: human("hi"), interrupt_before: "*" };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
    expect(await rootEnd(thread, WATCHER, python)).toMatchObject({ event: "completed" });
    expect(isEnd((await read(caller, thread, WATCHER)).at(-1) as Event)).toBe(true);
  });
});
