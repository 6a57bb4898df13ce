/**
 * The versions of LangGraph that a project may bring: the lowest, one of each generation that emits in another way, and the
 * newest. Each runs the same graphs in a real server (fixture/graphs.ts).
 */
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.ts";
import { bundleGraphs, installProject } from "./project.ts";

const zod3 = { zod: "3.25.76" };
const VERSIONS: [langgraph: string, others: Record<string, string>][] = [
  ["0.2.57", { "@langchain/core": "0.3.40", zod: "3.23.8" }],
  ["0.3.12", zod3],
  ["0.4.9", zod3],
  ["1.0.1", zod3],
  ["1.4.18", { zod: "4.4.3" }],
  ["1.7.3", { zod: "4.4.3" }],
];

interface State {
  messages: { type: string; content: string; id: string }[];
  notes: string[];
}
const input = { messages: [{ role: "user", content: "hi" }] };

describe.each(VERSIONS)("LangGraph %s", (version, others) => {
  let server: TestServer;
  let client: Client<State>;

  beforeAll(async () => {
    const dir = installProject(version, { "@langchain/langgraph": version, ...others });
    server = await startServer({}, await bundleGraphs(dir, join(import.meta.dirname, "fixture", "graphs.ts")));
    client = new Client<State>({ apiUrl: server.url, apiKey: server.key });
  });
  afterAll(async () => server?.stop());

  it.each(["builder", "owned"])("runs, streams and resumes the graph %s", async (graph) => {
    const { thread_id } = await client.threads.create();
    const counts: Record<string, number> = {};
    const notes: string[][] = [];
    let text = "";
    const modes = ["values", "updates", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events"] as const;
    const options = { input, streamMode: [...modes], streamSubgraphs: true };
    for await (const { event, data } of client.runs.stream(thread_id, graph, options)) {
      expect([event, data]).not.toEqual(["error", expect.anything()]);
      const name = event.replace(/:[0-9a-f-]{36}/, "");
      counts[name] = (counts[name] ?? 0) + 1;
      if (event === "values" && "notes" in (data as object)) notes.push(data.notes);
      if (name === "messages|chat") text += (data as [{ content: string }])[0].content;
    }
    expect(text).toBe("Hello there.");
    // The last one is the state at the interrupt.
    expect(notes).toEqual([[], [], ["from inside"], ["from inside"]]);
    expect(counts).toMatchObject({ custom: 1, "custom|nested": 1, tasks: 6, "tasks|nested": 2, checkpoints: 4 });
    expect(counts).toMatchObject({ updates: 3, "updates|nested": 1, "values|nested": 2, debug: 10, values: 4 });

    const [interrupt] = await pendingIn(thread_id);
    expect(interrupt).toMatchObject({ value: { question: "Well?" }, id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const resume = { [interrupt?.id as string]: "fine" };
    const ended = (await client.runs.wait(thread_id, graph, { command: { resume } })) as unknown as State;
    expect(ended.notes).toEqual(["from inside", "answered fine", "leaf a", "leaf b"]);
    expect(ended.messages.map(({ type, content }) => [type, content])).toEqual([
      ["human", "hi"],
      ["ai", "Hello there."],
    ]);
  });

  it("shows the history, and takes an update of the state", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "builder", { input });
    await client.runs.wait(thread_id, "builder", { command: { resume: "fine" } });
    const history = await client.threads.getHistory(thread_id);
    const nodes = [[], ["leaf", "leaf"], ["ask"], ["nested"], ["chat"], ["__start__"]];
    expect(history.map(({ next }) => next)).toEqual(nodes);
    await client.threads.updateState(thread_id, { values: { notes: ["more"] }, asNode: "leaf" });
    expect((await client.threads.getState(thread_id)).values.notes.at(-1)).toBe("more");
    await client.runs.wait(thread_id, "builder", { checkpoint: history[3]?.checkpoint, input: null });
    expect(await pendingIn(thread_id)).toHaveLength(1);
  });

  it("pauses in a nested graph, and reports what a node throws", async () => {
    for (const [answer, outcome] of [
      ["fine", { notes: ["first", "first", "inner fine"] }],
      ["fail", { __error__: { error: "Error", message: "On purpose." } }],
    ] as const) {
      const { thread_id } = await client.threads.create();
      await client.runs.wait(thread_id, "outer", { input });
      const state = await client.threads.getState(thread_id, undefined, { subgraphs: true });
      expect(state.tasks.map(({ name, state: inner }) => [name, inner?.next])).toEqual([["sub", ["question"]]]);
      expect(await pendingIn(thread_id)).toMatchObject([{ value: "inside?" }]);
      const options = { command: { resume: answer }, raiseError: false };
      expect(await client.runs.wait(thread_id, "outer", options)).toMatchObject(outcome);
    }
  });

  it("stops before a node", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "builder", { input, interruptBefore: ["nested"] });
    expect((await client.threads.get(thread_id)).status).toBe("interrupted");
    await client.runs.wait(thread_id, "builder", { input: null });
    expect(await pendingIn(thread_id)).toHaveLength(1);
  });

  it("runs the functional API", async () => {
    const { thread_id } = await client.threads.create();
    const first = await client.runs.wait(thread_id, "functional", { input: { text: "abc" } });
    expect(first).toMatchObject({ __interrupt__: [{ value: "ok?" }] });
    const ended = await client.runs.wait(thread_id, "functional", { command: { resume: "yes" } });
    expect(ended).toMatchObject({ said: "ABC", answer: "yes", message: { type: "ai", content: "ABC" } });
  });

  it("describes its graphs", async () => {
    const { state_schema } = await client.assistants.getSchemas("builder");
    expect(state_schema).toMatchObject({ properties: { messages: {}, notes: {} } });
    const { nodes } = await client.assistants.getGraph("builder");
    expect(nodes.map(({ id }) => id)).toEqual(expect.arrayContaining(["chat", "nested", "ask", "leaf"]));
  });

  /** The interrupts of the thread's record, once they are those of its state too. */
  async function pendingIn(thread_id: string) {
    const thread = await client.threads.get(thread_id);
    expect(thread.status).toBe("interrupted");
    const pending = Object.values(thread.interrupts).flat();
    expect((await client.threads.getState(thread_id)).tasks.flatMap(({ interrupts }) => interrupts)).toEqual(pending);
    return pending;
  }
});
