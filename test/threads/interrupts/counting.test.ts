/** An interrupt counts once, whichever tasks wrote it, and a plain response is for one interrupt. */
import { entrypoint, interrupt, MessagesAnnotation, START, StateGraph, task } from "@langchain/langgraph";
import { AIMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { message1, result, rpc } from "../../protocols/a2a/rpc.ts";
import { connectSecond } from "../../protocols/mcp/connect.ts";
import { command } from "../../protocols/streaming/client.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { get, stream } from "../client.ts";
import { ask, type Json, listQuestions, type Question, waitForEnd } from "./ask.ts";

const approve = task("approve", (what: string): string => String(interrupt(`Approve ${what}?`)));
const functional = entrypoint({ name: "asking_function" }, async () => ({ approved: await approve("it") }));

const asks = (name: string) => () => ({
  messages: [new AIMessage({ content: `${name}: ${JSON.stringify(interrupt(`${name}?`))}` })],
});
const two = new StateGraph(MessagesAnnotation)
  .addNode("left", asks("left"))
  .addNode("right", asks("right"))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .compile({ name: "two" });
const nested = new StateGraph(MessagesAnnotation).addNode("inner", two).addEdge(START, "inner").compile();
Object.assign(graphs, { asking_function: functional, two, asking_nested: nested });

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const GO = { messages: [{ role: "user", content: "go" }] };

async function agui(threadId: string, more: Json = {}, graph = "two", path = ""): Promise<Json[]> {
  const body = { threadId, runId: crypto.randomUUID(), messages: [], tools: [], context: [], ...more };
  const text = await (await caller.fetch(`/agui/${graph}${path}`, { body })).text();
  return text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as Json] : []));
}

async function wait(thread: string, assistant_id: string, body: Json): Promise<Json> {
  return (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id, ...body } })).json<Json>();
}

describe("the interrupt of a functional graph's task, which its entrypoint writes, too", () => {
  it("is one on the thread, in its state and in the result of the run", async () => {
    const { thread } = await ask(caller, "asking_function", {});
    const asked = await listQuestions(caller, thread);
    expect(asked).toMatchObject([{ value: "Approve it?" }]);
    expect((await get<{ interrupts: Question[] }>(caller, `/threads/${thread}/state`)).interrupts).toEqual(asked);
    expect((await wait(thread, "asking_function", { input: {} })).__interrupt__).toHaveLength(1);
  });

  it("is one in a webhook, whose receiver gives a plain response", async () => {
    const counts: number[] = [];
    stubFetch(async (_url, { body }) => {
      const { interrupts = [] } = JSON.parse(body as string) as { interrupts?: Json[] };
      counts.push(interrupts.length);
      return Response.json(interrupts.length > 0 ? { resume: "yes" } : {});
    });
    const { thread } = await ask(caller, "asking_function", {}, { webhook: "https://functional.example/run" });
    expect(await waitForEnd(caller, thread)).toEqual({ approved: "yes" });
    await expect.poll(() => counts).toEqual([1, 0]);
  });

  it("is one over A2A and AG-UI", async () => {
    const agent = { agent: "asking_function" };
    const first = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ data: {} }] };
    const { task: asked } = await result(caller, "SendMessage", { message: first }, agent);
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const events = await agui(asked.contextId, {}, "asking_function", "/connect");
    expect(events.at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: [{ message: "Approve it?" }] } });
    const yes = { message: message1("yes", { taskId: asked.id, contextId: asked.contextId }) };
    const { task: done } = await result(caller, "SendMessage", yes, agent);
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
    expect(await waitForEnd(caller, asked.contextId)).toEqual({ approved: "yes" });
  });
});

interface Two {
  graph: string;
  thread: string;
  refused: string;
}

function respondByRun(given: Json) {
  return async ({ graph, thread, refused }: Two) => {
    const error = { error: "SeveralInterruptsError", message: refused };
    for (const strict_resume of [undefined, true])
      expect(await wait(thread, graph, { command: given, strict_resume })).toEqual({ __error__: error });
  };
}

/** Ways to give a plain response, and how it is refused. */
const WAYS: [name: string, respond: (at: Two) => Promise<void>][] = [
  ["as the command of a run", respondByRun({ resume: "yes" })],
  ["as the command of a run, false", respondByRun({ resume: false })],
  ["as the command of a run, an object with other keys", respondByRun({ resume: { left: "x", right: "y" } })],
  [
    "in the streaming protocol",
    async ({ graph, thread, refused }) => {
      const answer = await command(caller, thread, "run.start", { assistant_id: graph, input: "yes" });
      expect(answer).toMatchObject({ type: "error", error: "invalid_argument", message: refused });
    },
  ],
  [
    "over AG-UI",
    async ({ graph, thread, refused }) => {
      const events = await agui(thread, { forwardedProps: { command: { resume: "yes" } } }, graph);
      expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", message: expect.stringContaining(refused) });
    },
  ],
  [
    "over MCP",
    async ({ thread, refused }) => {
      const client = await connectSecond(caller.key);
      const call = { name: "answer_interrupt", arguments: { thread_id: thread, answer: "yes" } };
      await expect(client.callTool(call)).rejects.toThrow(refused);
      await client.close();
    },
  ],
];

describe.each(["two", "asking_nested"])(
  "with two interrupts that wait (%s), a plain response runs nothing",
  (graph) => {
    it.each(WAYS)("%s", async (_name, respond) => {
      const { thread } = await ask(caller, graph, GO);
      const ids = (await listQuestions(caller, thread)).map(({ id }) => id);
      expect(ids).toHaveLength(2);
      const said = "Several interrupts wait, and a response is for one. Give each response by the id of its interrupt";
      await respond({ graph, thread, refused: `${said}: ${ids.join(", ")}.` });
      expect((await listQuestions(caller, thread)).map(({ id }) => id)).toEqual(ids);
      const left = { status: "interrupted", values: { messages: [{ content: "go" }] } };
      expect(await get<Json>(caller, `/threads/${thread}`)).toMatchObject(left);
    });
  },
);

it("over A2A, two interrupts take no text, and the text by their ids", async () => {
  const agent = { agent: "two" };
  const { task: asked } = await result(caller, "SendMessage", { message: message1("go") }, agent);
  const at = { taskId: asked.id, contextId: asked.contextId };
  const { error } = await rpc(caller, "SendMessage", { message: message1("yes", at) }, agent);
  const questions = await listQuestions(caller, asked.contextId);
  expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining("Several interrupts wait") });
  for (const { id } of questions) expect(error?.message).toContain(id);
  const resume = Object.fromEntries(questions.map(({ id, value }) => [id, `to ${String(value)}`]));
  const message = { ...message1("", at), parts: [{ data: { resume } }] };
  const { task: done } = await result(caller, "SendMessage", { message }, agent);
  expect(done.status.state).toBe("TASK_STATE_COMPLETED");
});

it("a run from an earlier checkpoint at which two interrupts wait takes no plain response", async () => {
  const { thread } = await ask(caller, "two", GO);
  const { checkpoint } = await get<{ checkpoint: Json }>(caller, `/threads/${thread}/state`);
  await caller.fetch(`/threads/${thread}/state`, { body: { values: {}, as_node: "left" } });
  const fork = { command: { resume: "yes" }, checkpoint_id: checkpoint.checkpoint_id };
  expect(await wait(thread, "two", fork)).toMatchObject({ __error__: { error: "SeveralInterruptsError" } });
});

it("one response by its id leaves the other interrupt, and then a plain response is for that", async () => {
  const { thread } = await ask(caller, "two", GO);
  const right = (await listQuestions(caller, thread)).find(({ value }) => value === "right?") as Question;
  await wait(thread, "two", { command: { resume: { [right.id]: "R" } } });
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: "left?" }]);
  const { messages } = (await wait(thread, "two", { command: { resume: "L" } })) as { messages: Json[] };
  expect(messages.map(({ content }) => content)).toEqual(["go", 'left: "L"', 'right: "R"']);
});

it.each([{}, { resume: null }, { resume: null, update: {}, goto: [] }])(
  "the command %o is none: the graph asks again",
  async (given) => {
    const { thread, question } = await ask(caller, "asking_function", {});
    const { __interrupt__: asked } = await wait(thread, "asking_function", { command: given });
    expect(asked).toMatchObject([{ value: question.value }]);
    expect(await get<Json>(caller, `/threads/${thread}`)).toMatchObject({ status: "interrupted" });
  },
);

describe("the values of a run that pauses", () => {
  it("have the state beside the interrupts, as the Python Agent Server sends them", async () => {
    const { thread } = await ask(caller, "two", GO);
    const frames = await stream(caller, thread, { assistant_id: "two", input: null, stream_mode: ["values"] });
    const last = frames.findLast(({ event }) => event === "values")?.data;
    expect(last).toMatchObject({ messages: [{ content: "go" }] });
    expect((last as { __interrupt__: Json[] }).__interrupt__.length).toBeGreaterThan(0);
  });

  it("have the state at a breakpoint", async () => {
    const { thread_id } = await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>();
    const body = { assistant_id: "two", input: GO, interrupt_before: ["left"], stream_mode: ["values"] };
    const frames = await stream(caller, thread_id, body);
    const last = frames.findLast(({ event }) => event === "values")?.data;
    expect(last).toMatchObject({ messages: [{ content: "go" }], __interrupt__: [] });
  });
});
