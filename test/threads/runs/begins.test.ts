/** A run changes its thread when it begins: one that waits, is stopped, rolled back or deleted leaves no trace of its assistant. */
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesDeltaValue,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { graphs } from "../../../src/deployment.ts";
import { threadStub } from "../../../src/threads/remote.ts";
import { env } from "cloudflare:workers";
import { abortAllDurableObjects } from "cloudflare:test";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { connectFirst } from "../../protocols/mcp/connect.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- what is sent here has many shapes
type Json = Record<string, any>;

const Log = () =>
  new ReducedValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.array(z.string()), reducer: (a: string[], b: string[]) => [...a, ...b] },
  );
const Plain = new StateSchema({ messages: MessagesValue, log: Log() });
const Delta = new StateSchema({ messages: MessagesDeltaValue, log: Log() });

const closed = new Set<string>();
const reached = new Set<string>();
async function pass(node: string, { configurable, signal }: LangGraphRunnableConfig): Promise<void> {
  const gate = `${configurable?.thread_id} ${node}`;
  reached.add(gate);
  while (closed.has(gate)) {
    if (signal?.aborted) throw new Error("stopped");
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

/** Answers, asks where the message ends in a question mark, and notes with which config it was answered. */
const chat = (schema: typeof Plain, name: string) =>
  new StateGraph(schema)
    .addNode("speak", async ({ messages }, config) => {
      await pass("speak", config);
      return {
        messages: [new AIMessage(`seen: ${messages.map((one: BaseMessage) => one.text).join("|")}`)],
        log: ["speak"],
      };
    })
    .addNode("ask", async ({ messages }, config) => {
      const { configurable = {} } = config;
      const text = messages.findLast((one) => one.type === "human")?.text ?? "";
      if (!text.endsWith("?")) return { log: ["ask"] };
      const answer: unknown = interrupt(text);
      await pass("ask", config);
      return {
        log: [[answer, configurable.assistant_id, configurable.voice, configurable.tone].map(String).join(" ")],
      };
    })
    .addNode("close", async (_state, config) => {
      await pass("close", config);
      return { log: ["close"] };
    })
    .addEdge(START, "speak")
    .addEdge("speak", "ask")
    .addEdge("ask", "close")
    .addEdge("close", END)
    .compile({ name });
const other = new StateGraph(new StateSchema({ note: z.string().default(""), log: Log() }))
  .addNode("jot", () => ({ note: "noted", log: ["note"] }))
  .addEdge(START, "jot")
  .addEdge("jot", END)
  .compile({ name: "jotter" });
Object.assign(graphs, {
  talker: chat(Plain, "talker"),
  talker_delta: chat(Delta as unknown as typeof Plain, "talker_delta"),
  jotter: other,
  unmade: () => {
    throw new Error("It cannot be made.");
  },
});

const say = (content: string): Json => ({ messages: [{ role: "user", content }] });
const textsIn = ({ messages }: Json): string[] => (messages as Json[]).map(({ content }) => content as string);
const LATER = { after_seconds: 3_600 };

class Talk {
  private constructor(
    readonly caller: Caller,
    readonly id: string,
    readonly assistant: string,
  ) {}

  static async begin(assistant: string, caller: Caller, ...texts: string[]): Promise<Talk> {
    const { thread_id } = await (await caller.fetch("/threads", { body: {} })).json<Json>();
    const talk = new Talk(caller, thread_id as string, assistant);
    for (const text of texts) await talk.wait(say(text));
    return talk;
  }

  async call<T = Json>(path: string, body?: unknown, method?: string): Promise<T> {
    const response = await this.caller.fetch(`/threads/${this.id}${path}`, { body, method });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  run = async (input: Json | undefined, more: Json = {}): Promise<string> =>
    (await this.call("/runs", { assistant_id: this.assistant, input, ...more })).run_id as string;
  wait = async (input: Json | undefined, more: Json = {}) =>
    this.call("/runs/wait", { assistant_id: this.assistant, input, ...more });
  join = async (run: string) => this.call(`/runs/${run}/join`);
  /** A run of another assistant that is not due. */
  delayed = async (assistant_id = "jotter") => this.run({ log: ["later"] }, { assistant_id, ...LATER });
  cancel = async (run: string, action = "interrupt") =>
    this.call(`/runs/${run}/cancel?wait=1&action=${action}`, undefined, "POST");
  close = (node: string) => closed.add(`${this.id} ${node}`);
  open = (node: string) => closed.delete(`${this.id} ${node}`);
  async reach(node: string): Promise<void> {
    while (!reached.has(`${this.id} ${node}`)) await new Promise((resolve) => setTimeout(resolve, 3));
  }

  /** The thread, as its route, its state and a search show it. */
  async shown(): Promise<Json> {
    const { updated_at: _updated, ...thread } = await this.call("");
    const { values, next, interrupts } = await this.call("/state");
    const body = { ids: [this.id] };
    const [found] = await (await this.caller.fetch("/threads/search", { body })).json<[Json]>();
    const { metadata, values: listed, status } = found;
    return { thread, state: { values, next, interrupts }, listed: { metadata, values: listed, status } };
  }

  questions = async (): Promise<Json[]> =>
    Object.values((await this.call("")).interrupts as Record<string, Json[]>).flat();
}

const command = async (talk: Talk, method: string, params: Json) => talk.call("/commands", { id: 1, method, params });
const makeAssistant = async (caller: Caller, voice: string, graph_id = "talker"): Promise<string> => {
  const body = { graph_id, name: voice, config: { configurable: { voice } } };
  return (await (await caller.fetch("/assistants", { body })).json<Json>()).assistant_id as string;
};

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

describe.each<[string, (talk: Talk) => Promise<unknown>]>([
  ["is delayed", async (talk) => talk.delayed()],
  ["is cancelled before it is due", async (talk) => talk.cancel(await talk.delayed())],
  ["is rolled back before it is due", async (talk) => talk.cancel(await talk.delayed(), "rollback")],
  ["is deleted before it is due", async (talk) => talk.call(`/runs/${await talk.delayed()}`, undefined, "DELETE")],
  ["has run and is deleted", async (talk) => talk.call(`/runs/${await ran(talk)}`, undefined, "DELETE")],
])("a run of another graph that %s", (_how, happen) => {
  it("leaves a thread that waits as it was, and its question answerable", async () => {
    const talk = await Talk.begin("talker", caller, "one?");
    const before = await talk.shown();
    await happen(talk);
    const { thread, ...shown } = await talk.shown();
    expect(shown).toEqual({ state: before.state, listed: before.listed });
    const rest = ({ state_updated_at: _at, ...shown }: Json) => shown;
    expect(rest(thread as Json)).toEqual(rest(before.thread as Json));
    const [question] = await talk.questions();
    const answer = await command(talk, "input.respond", { interrupt_id: question?.id, namespace: [], response: "yes" });
    expect(answer).toMatchObject({ type: "success" });
    await expect.poll(async () => (await talk.call("")).status).toBe("idle");
    expect((await talk.call("/state")).values.log).toContain(
      `yes ${before.thread.metadata.assistant_id} undefined undefined`,
    );
  });

  it("does not change what a state update, a copy and pruning see", async () => {
    const talk = await Talk.begin("talker_delta", caller, "one", "two");
    await happen(talk);
    await talk.call("/state", { values: say("added"), as_node: "speak" });
    const said = ["one", "seen: one", "two", "seen: one|seen: one|two", "added"];
    expect(textsIn((await talk.call("")).values as Json)).toEqual(said);
    const copy = await talk.call("/copy", {}, "POST");
    expect(textsIn(copy.values as Json)).toEqual(said);
    const pruned = { thread_ids: [talk.id], strategy: "keep_latest" };
    await (await caller.fetch("/threads/prune", { body: pruned })).text();
    expect(textsIn(await talk.wait(say("three"))).slice(0, 5)).toEqual(said);
  });
});

/** A run of another graph that has run on a thread which waits: it has its id. */
async function ran(talk: Talk): Promise<string> {
  const run = await talk.run({ log: ["x"] }, { assistant_id: "jotter" });
  await talk.join(run);
  return run;
}

describe("a rollback", () => {
  it("of a run of another graph gives the thread back: graph, assistant, values and status", async () => {
    const talk = await Talk.begin("talker", caller, "one?");
    const jot = await Talk.begin("jotter", caller, "x");
    const before = await talk.shown();
    const talker = await jot.shown();
    jot.close("speak");
    const run = await jot.run(say("two"), { assistant_id: "talker" });
    await jot.reach("speak");
    expect((await jot.call("")).metadata).toMatchObject({ graph_id: "talker" });
    await abortAllDurableObjects();
    expect((await jot.call("")).metadata).toMatchObject({ graph_id: "talker" });
    await jot.cancel(run, "rollback");
    jot.open("speak");
    expect(await jot.shown()).toEqual(talker);
    expect(await talk.shown()).toEqual(before);
  });

  it("keeps what a person changed while the run was at work", async () => {
    const talk = await Talk.begin("jotter", caller, "x");
    talk.close("speak");
    const run = await talk.run(say("two"), { assistant_id: "talker" });
    await talk.reach("speak");
    await talk.call("", { metadata: { graph_id: "mine", tag: "t" } }, "PATCH");
    await talk.cancel(run, "rollback");
    talk.open("speak");
    expect((await talk.call("")).metadata).toMatchObject({ graph_id: "mine", tag: "t" });
  });
});

it("a run that is stopped beside a queued one of another graph shows its own values", async () => {
  const talk = await Talk.begin("talker", caller, "one");
  talk.close("close");
  const run = await talk.run(say("two"));
  await talk.reach("close");
  await talk.run({ log: ["queued"] }, { assistant_id: "jotter", ...LATER });
  await talk.cancel(run);
  talk.open("close");
  const thread = await talk.call("");
  expect(thread).toMatchObject({ status: "interrupted", metadata: { graph_id: "talker" } });
  expect(textsIn(thread.values as Json)).toContain("two");
  expect(textsIn(await talk.join(run))).toContain("two");
});

it("a queued run changes the thread when its turn comes", async () => {
  const talk = await Talk.begin("talker", caller, "one");
  talk.close("speak");
  const first = await talk.run(say("two"));
  await talk.reach("speak");
  const second = await talk.run({ log: ["queued"] }, { assistant_id: "jotter" });
  expect((await talk.call("")).metadata).toMatchObject({ graph_id: "talker" });
  talk.open("speak");
  await Promise.all([talk.join(first), talk.join(second)]);
  const jotter = await talk.shown();
  expect(jotter.thread.metadata).toMatchObject({ graph_id: "jotter" });
  await abortAllDurableObjects();
  expect((await talk.shown()).thread.metadata).toEqual(jotter.thread.metadata);
});

it("a thread that a delayed run makes is found by its assistant at once, and belongs to the run that begins first", async () => {
  const [a, b] = [await makeAssistant(caller, "a"), await makeAssistant(caller, "b")];
  const thread = crypto.randomUUID();
  const made = { assistant_id: b, input: say("later"), if_not_exists: "create", metadata: { tag: "t" }, ...LATER };
  await (await caller.fetch(`/threads/${thread}/runs`, { body: made })).text();
  const found = async (assistant_id: string) =>
    (await (await caller.fetch("/threads/search", { body: { metadata: { assistant_id } } })).json<Json[]>()).length;
  expect([await found(a), await found(b)]).toEqual([0, 1]);
  expect(await (await caller.fetch(`/threads/${thread}`)).json()).toMatchObject({
    status: "idle",
    values: null,
    metadata: { graph_id: "talker", assistant_id: b, tag: "t" },
  });
  await (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: a, input: say("one") } })).text();
  expect([await found(a), await found(b)]).toEqual([1, 0]);
});

describe("the deletion of an assistant with its threads", () => {
  const remove = async (assistant: string) =>
    (await caller.fetch(`/assistants/${assistant}?delete_threads=true`, { method: "DELETE" })).status;

  it.each<[string, (talk: Talk, assistant: string) => Promise<unknown>]>([
    ["a delayed run", async (talk, assistant) => talk.delayed(assistant)],
    [
      "a delayed run that was rolled back",
      async (talk, assistant) => talk.cancel(await talk.delayed(assistant), "rollback"),
    ],
    [
      "runs that were deleted",
      async (talk, assistant_id) => {
        const runs = [];
        for (const text of ["two", "three"]) {
          runs.push(await talk.run(say(text), { assistant_id }));
          await talk.join(runs.at(-1) as string);
        }
        for (const run of runs) await talk.call(`/runs/${run}`, undefined, "DELETE");
      },
    ],
  ])("leaves the thread of another assistant on which it had %s", async (_what, happen) => {
    const [a, b] = [await makeAssistant(caller, "a"), await makeAssistant(caller, "b")];
    const talk = await Talk.begin(a, caller, "one");
    await happen(talk, b);
    expect(await remove(b)).toBe(204);
    expect((await talk.call("")).metadata).toMatchObject({ assistant_id: a });
    expect(await remove(a)).toBe(204);
    await expect(talk.call("")).rejects.toThrow("404");
  });

  it("leaves a thread that the index has found under its earlier assistant", async () => {
    const [a, b] = [await makeAssistant(caller, "a"), await makeAssistant(caller, "b")];
    const talk = await Talk.begin(b, caller, "one");
    const thread = threadStub(env, caller.workspaceId, talk.id);
    await talk.wait(say("two"), { assistant_id: a });
    expect(await thread.remove({ assistant_id: b })).toBe("kept");
    expect((await talk.call("")).metadata).toMatchObject({ assistant_id: a });
    expect(await thread.remove({ assistant_id: a })).toBe(true);
  });
});

describe("a response runs with the assistant, and the config, of the run that asked", () => {
  /** A question of the first assistant, asked with a config, behind which a run of another assistant has failed. */
  async function asked() {
    const [a, b] = [await makeAssistant(caller, "a"), await makeAssistant(caller, "b", "unmade")];
    const talk = await Talk.begin(a, caller, "one");
    await talk.wait(say("two?"), { config: { configurable: { tone: "low" } } });
    const [question] = await talk.questions();
    // It begins, and fails before it writes a checkpoint: the interrupt still waits.
    await talk.wait(say("three"), { assistant_id: b });
    await talk.run(say("later"), { assistant_id: b, ...LATER });
    expect((await talk.call("")).metadata).toMatchObject({ assistant_id: b });
    expect(await talk.questions()).toEqual([question]);
    const answered = async () => {
      await expect.poll(async () => (await talk.call("")).status).toBe("idle");
      return (await talk.call("/state")).values.log as string[];
    };
    return { talk, a, b, id: question?.id as string, answered };
  }

  it("over the streaming protocol", async () => {
    const { talk, a, id, answered } = await asked();
    const answer = await command(talk, "input.respond", { interrupt_id: id, namespace: [], response: "yes" });
    expect(answer).toMatchObject({ type: "success" });
    expect(await answered()).toContain(`yes ${a} a low`);
  });

  it("as the input of the streaming protocol, for the assistant that the thread has", async () => {
    const { talk, a, answered } = await asked();
    expect(await command(talk, "run.start", { assistant_id: "_", input: "yes" })).toMatchObject({ type: "success" });
    expect(await answered()).toContain(`yes ${a} a low`);
  });

  it("over a link", async () => {
    const { talk, a, id, answered } = await asked();
    const { url } = await talk.call(`/interrupts/${id}/links`, {});
    const response = await send(new URL(url as string).pathname, { body: { answer: "yes" } });
    expect(response.status).toBeLessThan(300);
    expect(await answered()).toContain(`yes ${a} a low`);
  });

  it("over MCP", async () => {
    const { talk, a, id, answered } = await asked();
    const client = await connectFirst(caller.key);
    const given = { thread_id: talk.id, interrupt_id: id, answer: "yes" };
    await client.callTool({ name: "answer_interrupt", arguments: given });
    expect(await answered()).toContain(`yes ${a} a low`);
    await client.close();
  });

  it("over AG-UI", async () => {
    const { talk, a, id, answered } = await asked();
    const resume = [{ interruptId: id, status: "resolved", payload: "yes" }];
    const body = {
      threadId: talk.id,
      runId: "r",
      messages: [],
      state: {},
      tools: [],
      context: [],
      forwardedProps: {},
      resume,
    };
    await (await caller.fetch(`/agui/${a}`, { body })).text();
    expect(await answered()).toContain(`yes ${a} a low`);
  });
});

it("a run that is refused does not take the thread over", async () => {
  const talk = await Talk.begin("talker", caller, "one?");
  const before = await talk.shown();
  const assistant_id = await makeAssistant(caller, "b");
  const command = { resume: { ["0".repeat(32)]: "no" } };
  await talk.wait(undefined, { assistant_id, command, strict_resume: true });
  expect(await talk.shown()).toMatchObject({ thread: { metadata: before.thread.metadata }, state: before.state });
});

it("a branch of the streaming protocol runs with the assistant that wrote its checkpoint", async () => {
  const [a, b] = [await makeAssistant(caller, "a"), await makeAssistant(caller, "b")];
  const talk = await Talk.begin(a, caller, "one");
  const { checkpoint } = await talk.call("/state");
  await talk.wait(say("two"), { assistant_id: b });
  const forked = await command(talk, "state.fork", { checkpoint_id: checkpoint.checkpoint_id, input: say("three") });
  expect(await talk.call(`/runs/${forked.result.run_id}`)).toMatchObject({ assistant_id: a });
  await talk.join(forked.result.run_id as string);
});

it("a run from an earlier checkpoint that is stopped before it writes one leaves the thread as its state is", async () => {
  const talk = await Talk.begin("talker", caller, "one?");
  const { checkpoint } = await talk.call("/state");
  await talk.wait(undefined, { command: { resume: "yes" } });
  await talk.wait(say("two"));
  const before = await talk.shown();
  expect(before.state.values).toEqual(before.thread.values);
  talk.close("ask");
  const run = await talk.run(undefined, { command: { resume: "no" }, checkpoint_id: checkpoint.checkpoint_id });
  await talk.reach("ask");
  await talk.cancel(run);
  talk.open("ask");
  expect(textsIn(await talk.join(run))).toEqual(["one?", "seen: one?"]);
  const after = await talk.shown();
  expect(after.state).toEqual(before.state);
  expect(after.thread).toMatchObject({ values: before.thread.values, status: "idle", interrupts: {} });
});
