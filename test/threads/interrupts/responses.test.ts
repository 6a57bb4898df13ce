/** Answers to questions that are undone, not used, given twice, or given to a graph that cannot be made. */
import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";
import { beforeEach, expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { read as readEvents } from "../../protocols/streaming/client.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { factory, ran } from "../../support/pausing-graphs.ts";
import { pause } from "../../support/aborts.ts";
import { get, newThread } from "../client.ts";

type Json = Record<string, unknown>;
type Question = { id: string; value: string };

beforeEach(() => {
  ran.length = 0;
  factory.work = () => undefined;
});

async function wait(caller: Caller, thread: string, body: Json): Promise<Json> {
  return (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { input: null, ...body } })).json<Json>();
}

async function start(caller: Caller, thread: string, body: Json): Promise<string> {
  const response = await caller.fetch(`/threads/${thread}/runs`, { body: { input: null, ...body } });
  return (await response.json<{ run_id: string }>()).run_id;
}

async function listQuestions(caller: Caller, thread: string): Promise<Question[]> {
  const { interrupts } = await get<{ interrupts: Record<string, Question[]> }>(caller, `/threads/${thread}`);
  const { interrupts: asked } = await get<{ interrupts: Question[] }>(caller, `/threads/${thread}/state`);
  expect(Object.values(interrupts).flat()).toEqual(asked);
  return asked;
}

function throwInFactory(): void {
  factory.work = () => {
    throw new Error("no database");
  };
}

/** A thread whose graph has asked, and its question. */
async function askQuestion(caller: Caller, assistant_id: string): Promise<{ thread: string; question: Question }> {
  const thread = await newThread(caller);
  await wait(caller, thread, { assistant_id, input: { said: [] } });
  const [question] = await listQuestions(caller, thread);
  return { thread, question: question! };
}

const cancel = (caller: Caller, thread: string, run: string, action: string) =>
  caller.fetch(`/threads/${thread}/runs/${run}/cancel?wait=1&action=${action}`, { method: "POST" });

const isRunning = async (caller: Caller, thread: string, run: string) =>
  expect.poll(() => get(caller, `/threads/${thread}/runs/${run}`)).toMatchObject({ status: "running" });

it("an answer that names the latest checkpoint executes no node again that has ended", async () => {
  const caller = await newCaller();
  const { thread, question } = await askQuestion(caller, "nested");
  const { checkpoint } = await get<{ checkpoint: Json }>(caller, `/threads/${thread}/state`);
  ran.length = 0;
  const command = { resume: { [question.id]: "yes" } };
  const { said } = await wait(caller, thread, { assistant_id: "nested", command, checkpoint });
  expect(said).toEqual(["beside", "before", 'inner: "yes"', "last"]);
  expect(ran).toEqual(["inner", "last"]);
});

it("readers of the log find a question again whose answer was undone", async () => {
  const caller = await newCaller();
  const { thread, question } = await askQuestion(caller, "plain");
  const run = await start(caller, thread, { assistant_id: "plain", command: { resume: "slow" } });
  await expect.poll(() => ran).toEqual(["first", "ask"]);
  await cancel(caller, thread, run, "rollback");
  const events = await readEvents(caller, thread, { channels: ["input", "lifecycle"] }, { times: 2 });
  const input = events.filter(({ method }) => method.startsWith("input"));
  expect(input.map(({ method, params }) => [method, params.data.interrupt_id ?? params.data.interrupt_ids])).toEqual([
    ["input.requested", question.id],
    ["input.answered", [question.id]],
    ["input.requested", question.id],
  ]);
});

it.each<[string, () => void]>([
  ["whose factory throws", throwInFactory],
  ["that is no longer deployed", () => Reflect.deleteProperty(graphs, "breakable")],
])("a question of a graph %s stays answerable", async (_name, breakGraph) => {
  const caller = await newCaller();
  const { breakable } = graphs;
  const { thread, question } = await askQuestion(caller, "breakable");
  const before = await get<Json>(caller, `/threads/${thread}`);
  breakGraph();
  try {
    const path = `/threads/${thread}`;
    const body = {
      assistant_id: before.metadata && (before.metadata as Json).assistant_id,
      command: { resume: "yes" },
      input: null,
    };
    const failed = await caller.fetch(`${path}/runs/wait`, { body });
    expect(failed.status).toBeLessThan(500);
    for (const [method, to, given] of [
      ["GET", "/state"],
      ["GET", "/history"],
      ["POST", "/history", {}],
      ["POST", "/state", { values: { said: ["x"] } }],
    ] as [string, string, Json?][]) {
      const answer = await caller.fetch(path + to, { method, body: given });
      expect([to, answer.status, await answer.text()]).toEqual([to, 409, expect.stringContaining('\\"breakable\\"')]);
    }
    const { interrupts, values } = await get<Json>(caller, path);
    expect({ interrupts, values }).toEqual({ interrupts: before.interrupts, values: before.values });
  } finally {
    graphs.breakable = breakable!;
    factory.work = () => undefined;
  }
  expect(await listQuestions(caller, thread)).toEqual([question]);
  const answered = await wait(caller, thread, {
    assistant_id: "breakable",
    command: { resume: { [question.id]: "no" } },
  });
  expect(answered).toMatchObject({ said: ["first", 'ask: "no"'] });
});

it("a run that is cancelled in its graph's factory leaves the question open", async () => {
  const caller = await newCaller();
  const { thread, question } = await askQuestion(caller, "breakable");
  factory.held = true;
  const run = await start(caller, thread, { assistant_id: "breakable", command: { resume: "yes" } });
  await isRunning(caller, thread, run);
  const cancelled = cancel(caller, thread, run, "interrupt");
  await pause(50);
  factory.held = false;
  expect((await cancelled).status).toBe(204);
  expect(await listQuestions(caller, thread)).toEqual([question]);
});

it("a command is taken for an answer, and not for a repetition, while its question waits", async () => {
  const caller = await newCaller();
  const { thread, question } = await askQuestion(caller, "twice-under-one-id");
  // Clients number their commands from 1: that of another client is equal.
  const respond = async (response: string) => {
    const params = { namespace: [], interrupt_id: question.id, response };
    return (
      await caller.fetch(`/threads/${thread}/commands`, { body: { id: 1, method: "input.respond", params } })
    ).json();
  };
  expect(await respond("ok")).toMatchObject({ type: "success" });
  await expect.poll(() => listQuestions(caller, thread)).toMatchObject([{ value: "two?" }]);
  expect(await respond("ok")).toMatchObject({ type: "success" });
  const state = () => get(caller, `/threads/${thread}`);
  await expect.poll(state).toMatchObject({ status: "idle", values: { said: ['["ok","ok"]'] } });
});

/** Asks, and works for as long as its run is not stopped when the answer is "slow". */
graphs["asks-and-works"] = () =>
  new StateGraph(Annotation.Root({ said: Annotation<string[]>() }))
    .addNode("ask", async (_state, config) => {
      const answer = String(interrupt("ask?"));
      if (answer === "slow") while (!config.signal?.aborted) await pause(5);
      return { said: [answer] };
    })
    .addEdge(START, "ask")
    .compile();

it.each(["by its id", "alone"])("an answer %s whose run was stopped answers no later run, nor a copy", async (how) => {
  const caller = await newCaller();
  const { thread, question } = await askQuestion(caller, "asks-and-works");
  const resume = how === "alone" ? "slow" : { [question.id]: "slow" };
  const run = await start(caller, thread, { assistant_id: "asks-and-works", command: { resume } });
  await isRunning(caller, thread, run);
  const { thread_id } = await (
    await caller.fetch(`/threads/${thread}/copy`, { method: "POST" })
  ).json<{ thread_id: string }>();
  await cancel(caller, thread, run, "interrupt");
  for (const one of [thread, thread_id]) {
    expect(await listQuestions(caller, one)).toMatchObject([{ value: "ask?" }]);
    await wait(caller, one, { assistant_id: "asks-and-works" });
    expect(await listQuestions(caller, one)).toMatchObject([{ value: "ask?" }]);
    const { said } = await wait(caller, one, { assistant_id: "asks-and-works", command: { resume: "no" } });
    expect(said).toEqual(["no"]);
  }
});
