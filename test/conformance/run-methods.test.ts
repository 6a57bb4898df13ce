import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { type Client, createClient, VERSIONS } from "./clients.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

interface Message {
  type: string;
  content: string;
  id: string;
}
interface State {
  messages: Message[];
}
interface Part {
  id?: string;
  event: string;
  data: any; // oxlint-disable-line typescript/no-explicit-any -- each event has a shape of its own
}

const say = (content: string) => ({ messages: [{ role: "user", content }] });
const SUM = say("What is 17 * 23?");
const EMAIL = say("Write to ada@example.com that the build is green");
const RESEARCH = say("Research the history of weirs");

async function collectAll(stream: AsyncIterable<unknown>): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part as Part);
  return parts;
}

describe.each(VERSIONS)("runs of client %s", (version) => {
  let client: Client;
  beforeAll(async () => {
    client = createClient(version, await server.startAnother());
  });
  const thread = async () => (await client.threads.create()).thread_id;
  const run = async (threadId: string, assistant: string, payload: object) =>
    collectAll(client.runs.stream(threadId, assistant, payload));

  it("stream: values, updates", async () => {
    const id = await thread();
    const parts = await run(id, "agent", { input: SUM, streamMode: ["values", "updates"] });
    expect(parts[0]).toMatchObject({ event: "metadata", data: { run_id: expect.any(String), attempt: 1 } });
    const nodes = parts.filter((part) => part.event === "updates").map((part) => Object.keys(part.data)[0]);
    expect(nodes).toEqual(["agent", "tools", "agent"]);
    const states = parts.filter((part) => part.event === "values");
    expect(states.map((part) => part.data.messages.length)).toEqual([1, 2, 3, 4]);
    expect(states.at(-1)?.data.messages.map((m: Message) => m.type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(states.at(-1)?.data.messages[2].content).toContain("391");
    expect((await client.threads.getState<State>(id)).values).toEqual(states.at(-1)?.data);
  });

  it("stream: messages-tuple", async () => {
    const parts = await run(await thread(), "agent", { input: SUM, streamMode: ["messages-tuple", "values"] });
    const tuples = parts.filter((part) => part.event === "messages");
    const text = new Map<string, string>();
    for (const { data } of tuples) {
      const [message, metadata] = data;
      expect(metadata).toMatchObject({
        langgraph_node: expect.any(String),
        langgraph_step: expect.any(Number),
        thread_id: expect.any(String),
      });
      if (message.type === "AIMessageChunk") text.set(message.id, (text.get(message.id) ?? "") + message.content);
    }
    const final = parts.findLast((part) => part.event === "values")?.data.messages as Message[];
    for (const message of final.filter((m) => m.type === "ai")) expect(text.get(message.id)).toBe(message.content);
    expect(tuples.length).toBeGreaterThan(8);
  });

  it("stream: messages", async () => {
    const parts = await run(await thread(), "agent", { input: SUM, streamMode: "messages" });
    const kinds = new Set(parts.map((part) => part.event));
    expect([...kinds].sort()).toEqual(["messages/complete", "messages/metadata", "messages/partial", "metadata"]);
    const last = parts.findLast((part) => part.event === "messages/complete")?.data.at(-1) as Message;
    const partials = parts.filter((part) => part.event === "messages/partial" && part.data[0].id === last.id);
    expect(partials.at(-1)?.data[0].content).toBe(last.content);
    for (const [i, part] of partials.slice(1).entries()) {
      expect(part.data[0].content.startsWith(partials[i]?.data[0].content)).toBe(true);
    }
  });

  it("stream: custom, debug, tasks, checkpoints, events", async () => {
    const modes = ["custom", "debug", "tasks", "checkpoints", "events"];
    const parts = await run(await thread(), "echo", { input: say("hi"), streamMode: modes });
    const listData = (event: string) => parts.filter((part) => part.event === event).map((part) => part.data);
    expect(listData("debug").map((one) => one.type)).toEqual([
      "checkpoint",
      "checkpoint",
      "task",
      "task_result",
      "checkpoint",
    ]);
    expect(listData("tasks")).toMatchObject([
      { name: "echo", input: { messages: [{ content: "hi" }] } },
      { name: "echo", result: { messages: [{ content: "You said: hi" }] } },
    ]);
    expect(listData("checkpoints").at(-1)).toMatchObject({
      values: { messages: [{}, {}] },
      next: [],
      metadata: { step: 1 },
    });
    expect(listData("events").map((one) => one.event)).toContain("on_chain_start");
    // The chunks of the run itself are those of the other modes.
    const runId = parts.find((part) => part.event === "metadata")?.data.run_id;
    const ofRun = listData("events").filter((one) => one.run_id === runId);
    expect(ofRun.map((one) => one.event)).toEqual(["on_chain_start", "on_chain_end"]);
  });

  it("stream: subgraphs", async () => {
    const parts = await run(await thread(), "research", {
      input: RESEARCH,
      streamMode: ["updates", "values"],
      streamSubgraphs: true,
    });
    const nested = parts.filter((part) => part.event.includes("|"));
    expect(nested.length).toBeGreaterThan(0);
    for (const { event } of nested) expect(event).toMatch(/^(updates|values)\|tools:[0-9a-f-]{36}/);
    const plain = await run(await thread(), "research", { input: RESEARCH, streamMode: ["updates", "values"] });
    expect(plain.filter((part) => part.event.includes("|"))).toEqual([]);
  });

  it("stream: interrupt and command", async () => {
    const id = await thread();
    const parts = await run(id, "approval", { input: EMAIL, streamMode: ["values", "updates"] });
    const raised = parts.filter((part) => part.event === "updates").at(-1)?.data.__interrupt__;
    expect(raised).toMatchObject([{ id: expect.any(String), value: { action_requests: [{ name: "send_email" }] } }]);
    expect(await client.threads.get(id)).toMatchObject({ status: "interrupted" });
    const state = await client.threads.getState(id);
    expect(state.tasks[0]?.interrupts).toEqual(raised);
    const resumed = await run(id, "approval", {
      command: { resume: { decisions: [{ type: "approve" }] } },
      streamMode: "values",
    });
    expect(resumed.at(-1)?.data.sent).toMatchObject([{ to: "ada@example.com" }]);
    expect(await client.threads.get(id)).toMatchObject({ status: "idle", interrupts: {} });
  });

  it("stream: breakpoints, fork from a checkpoint, command.update and goto", async () => {
    const id = await thread();
    await run(id, "echo", { input: say("one"), interruptBefore: ["echo"], streamMode: "values" });
    const paused = await client.threads.getState<State>(id);
    expect(paused.next).toEqual(["echo"]);
    expect((await client.threads.get(id)).status).toBe("interrupted");
    await run(id, "echo", { input: null, streamMode: "values" });
    expect((await client.threads.getState<State>(id)).values.messages).toHaveLength(2);
    await run(id, "echo", { input: say("fork"), checkpointId: paused.checkpoint.checkpoint_id, streamMode: "values" });
    const forked = await client.threads.getState<State>(id);
    expect(forked.values.messages.map((m) => m.content)).toEqual(["one", "fork", "You said: fork"]);
    await run(id, "echo", { command: { update: say("pushed"), goto: "echo" }, streamMode: "values" });
    expect((await client.threads.getState<State>(id)).values.messages.at(-1)?.content).toBe("You said: pushed");
  });

  it("stream: errors", async () => {
    const id = await thread();
    const failed = await run(id, "agent", { input: SUM, config: { recursion_limit: 1 }, streamMode: "values" });
    expect(failed.at(-1)).toMatchObject({
      event: "error",
      data: { error: "GraphRecursionError", message: expect.stringContaining("Recursion limit") },
    });
    expect(await client.threads.get(id)).toMatchObject({ status: "error" });
    expect(await client.runs.list(id, { status: "error" })).toHaveLength(1);
    await expect(run(crypto.randomUUID(), "echo", { input: SUM })).rejects.toThrow("HTTP 404");
    await expect(run(id, "absent", { input: SUM })).rejects.toThrow("HTTP 404");
    await expect(run(id, "echo", { input: SUM, streamMode: "nonsense" })).rejects.toThrow("HTTP 422");
  });

  it("stream: stateless, on a thread made for it", async () => {
    const parts = await collectAll(client.runs.stream(null, "echo", { input: say("hi"), streamMode: "values" }));
    expect(parts.at(-1)?.data.messages.at(-1).content).toBe("You said: hi");
    const id = crypto.randomUUID();
    await run(id, "echo", { input: say("hi"), ifNotExists: "create" });
    expect((await client.threads.get(id)).status).toBe("idle");
  });

  it("create, get, list", async () => {
    const id = await thread();
    let told: unknown;
    const made = await client.runs.create(id, "echo", {
      input: say("hi"),
      metadata: { tag: 1 },
      onRunCreated: (params) => (told = params),
    });
    expect(made).toMatchObject({
      thread_id: id,
      assistant_id: "046b5dc7-2108-582c-9c6c-31d556d138f0",
      metadata: { tag: 1, created_by: "system" },
      multitask_strategy: "enqueue",
    });
    expect(told).toEqual({ run_id: made.run_id, thread_id: id });
    await client.runs.join(id, made.run_id);
    expect(await client.runs.get(id, made.run_id)).toMatchObject({ run_id: made.run_id, status: "success" });
    const later = await client.runs.create(id, "echo", { input: say("hi"), afterSeconds: 3600 });
    expect(later.status).toBe("pending");
    expect((await client.runs.list(id)).map((one) => one.run_id)).toEqual([later.run_id, made.run_id]);
    expect(await client.runs.list(id, { limit: 1, offset: 1 })).toMatchObject([{ run_id: made.run_id }]);
    expect(await client.runs.list(id, { status: "pending" })).toMatchObject([{ run_id: later.run_id }]);
    expect(await client.runs.list(id, { select: ["run_id"] as never, limit: 1 })).toEqual([{ run_id: later.run_id }]);
    await expect(client.runs.get(id, crypto.randomUUID())).rejects.toThrow("HTTP 404");
  });

  it("createBatch", async () => {
    const runs = await client.runs.createBatch(
      [1, 2, 3].map((n) => ({ assistantId: "echo", input: say(String(n)) })) as never,
    );
    expect(runs).toMatchObject([{ status: expect.any(String) }, {}, {}]);
    expect(new Set(runs.map((one) => one.thread_id)).size).toBe(3);
  });

  it("wait", async () => {
    const id = await thread();
    const values = (await client.runs.wait(id, "echo", { input: say("hi") })) as unknown as State;
    expect(values.messages.map((m) => m.content)).toEqual(["hi", "You said: hi"]);
    const paused = (await client.runs.wait(await thread(), "approval", { input: EMAIL })) as Record<string, unknown>;
    expect(paused.__interrupt__).toMatchObject([{ id: expect.any(String) }]);
    const failing = client.runs.wait(id, "agent", { input: SUM, config: { recursion_limit: 1 } });
    await expect(failing).rejects.toThrow("GraphRecursionError");
    expect(await client.runs.wait(null, "echo", { input: say("hi") })).toMatchObject({ messages: [{}, {}] });
  });

  it("join, joinStream", async () => {
    const id = await thread();
    const made = await client.runs.create(id, "agent", {
      input: SUM,
      streamMode: ["values", "messages-tuple"],
      streamResumable: true,
    });
    const [live, replay] = [
      await collectAll(client.runs.joinStream(id, made.run_id)),
      await collectAll(client.runs.joinStream(id, made.run_id, { lastEventId: "-1" })),
    ];
    expect(replay).toEqual(live);
    expect(live.at(-1)?.event).toBe("values");
    expect(await client.runs.join(id, made.run_id)).toEqual(live.at(-1)?.data);
    const middle = Math.floor(live.length / 2);
    const rest = await collectAll(client.runs.joinStream(id, made.run_id, { lastEventId: String(live[middle]?.id) }));
    expect(rest).toEqual(live.slice(middle + 1));
    const only = await collectAll(client.runs.joinStream(id, made.run_id, { streamMode: "values" }));
    expect(only).toEqual(live.filter((part) => part.event !== "messages"));
    const stateless = await client.runs.create(null, "echo", { input: say("hi") });
    expect((await collectAll(client.runs.joinStream(null, stateless.run_id))).at(-1)?.event).toBe("values");
    await expect(collectAll(client.runs.joinStream(id, crypto.randomUUID()))).rejects.toThrow("HTTP 404");
  });

  it("cancel", async () => {
    const id = await thread();
    const made = await client.runs.create(id, "echo", { input: say("hi"), afterSeconds: 3600 });
    await client.runs.cancel(id, made.run_id, true);
    expect(await client.runs.get(id, made.run_id)).toMatchObject({ status: "interrupted" });
    await client.runs.cancel(id, made.run_id);
    await expect(client.runs.cancel(id, crypto.randomUUID())).rejects.toThrow("HTTP 404");
    const other = await client.runs.create(id, "echo", { input: say("hi"), afterSeconds: 3600 });
    await client.runs.cancel(id, other.run_id, true, "rollback");
    await expect(client.runs.get(id, other.run_id)).rejects.toThrow("HTTP 404");
    expect((await client.threads.get(id)).status).toBe("idle");
  });

  it("delete", async () => {
    const id = await thread();
    const made = await client.runs.create(id, "echo", { input: say("hi") });
    await client.runs.join(id, made.run_id);
    await client.runs.delete(id, made.run_id);
    await expect(client.runs.get(id, made.run_id)).rejects.toThrow("HTTP 404");
    await expect(client.runs.delete(id, made.run_id)).rejects.toThrow("HTTP 404");
  });
});

// Client 2.0.0 has no such method.
describe("runs of client 1.15.0, beyond 2.0.0", () => {
  it("cancelMany", async () => {
    const client = createClient("1.15.0", await server.startAnother());
    const thread = async () => (await client.threads.create()).thread_id;
    const [one, two] = [await thread(), await thread()];
    const late = { input: say("hi"), afterSeconds: 3600 };
    const [a, b, c] = [
      await client.runs.create(one, "echo", late),
      await client.runs.create(one, "echo", late),
      await client.runs.create(two, "echo", late),
    ];
    await client.runs.cancelMany({ threadId: one, runIds: [a.run_id] });
    expect((await client.runs.list(one, { status: "pending" })).map((run) => run.run_id)).toEqual([b.run_id]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await client.runs.cancelMany({ status: "all" });
    expect(await client.runs.list(one, { status: "pending" })).toEqual([]);
    expect(await client.runs.get(two, c.run_id)).toMatchObject({ status: "interrupted" });
  });
});
