/** A task whose question is answered elsewhere: the run that resumes is of the task. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import type { Thread } from "../../../src/index.ts";
import type { RunRequest } from "../../../src/threads/rpc.ts";
import { waitForEnd, give, type Json, link, listQuestions } from "../../threads/interrupts/ask.ts";
import { command } from "../streaming/client.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import "../../support/pausing-graphs.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { rowsIn } from "../../support/thread-tables.ts";
import { get } from "../../threads/client.ts";
import { type Any, message1, result } from "./rpc.ts";

afterEach(() => vi.unstubAllGlobals());

type Answer = (caller: Caller, thread: string, id: string) => Promise<unknown>;
const CHANNELS: Record<string, Answer> = {
  "the API": async (caller, thread, id) => {
    const body = { assistant_id: "plain", command: { resume: { [id]: "yes" } } };
    await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
  },
  "the streaming protocol": async (caller, thread, interrupt_id) =>
    command(caller, thread, "input.respond", { namespace: [], interrupt_id, response: "yes" }),
  MCP: async (caller, thread_id, interrupt_id) => {
    const params = { name: "answer_interrupt", arguments: { thread_id, interrupt_id, answer: "yes" } };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    await (await caller.fetch("/mcp", { body, headers: { accept: "application/json" } })).text();
  },
  "a link": async (caller, thread, id) => give((await link(caller, thread, { id, value: "ask?" })).path, "yes"),
};

const beginTask = async (caller: Caller, configuration?: Json): Promise<{ id: string; thread: string }> => {
  const message = { ...message1(""), parts: [{ data: { said: [] } }] };
  const { task } = await result(caller, "SendMessage", { message, configuration }, { agent: "plain" });
  return { id: task.id, thread: task.id.slice(0, 36) };
};

it.each(Object.entries(CHANNELS))("%s", async (_name, answer) => {
  const caller = await newCaller();
  const pushed: string[] = [];
  stubFetch(async (_url, { body }) => {
    pushed.push(JSON.parse(body as string).task.status.state);
    return new Response();
  });
  const url = "https://push.example/elsewhere";
  const { id, thread } = await beginTask(caller, { taskPushNotificationConfig: { url } });
  const [question] = await listQuestions(caller, thread);
  await answer(caller, thread, question!.id);
  await waitForEnd(caller, thread);
  const task = await result(caller, "GetTask", { id }, { agent: "plain" });
  expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  expect(task.artifacts.at(-1).parts).toEqual([{ data: { said: ["first", 'ask: "yes"'] } }]);
  // Neither the first message again, nor one for an answer that came without a message.
  expect(task.history.map(({ role, parts }: Any) => [role, parts])).toEqual([
    ["ROLE_USER", [{ data: { said: [] } }]],
    ["ROLE_AGENT", [{ text: "ask?" }]],
  ]);
  await expect.poll(() => pushed.at(-1)).toBe("TASK_STATE_COMPLETED");
  const { tasks } = await result(caller, "ListTasks", { contextId: thread }, { agent: "plain" });
  expect(tasks.map((one: Any) => one.status.state)).toEqual(["TASK_STATE_COMPLETED"]);
});

it("the beginning of the run is visible to who is told of it", async () => {
  const caller = await newCaller();
  const { thread } = await beginTask(caller);
  const [question] = await listQuestions(caller, thread);
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const [first, visible] = await runInDurableObject(stub, async (object: Thread, { storage }) => {
    const [row] = rowsIn<{ request: string }>(storage, "SELECT request FROM runs");
    const { task: _task, input: _input, ...request } = JSON.parse(row!.request) as RunRequest;
    const command = { resume: { [question!.id]: "yes" } };
    const { run } = await object.launch({ ...request, run_id: crypto.randomUUID(), command });
    await storage.sync();
    return [await object.firstSeq(run.run_id), await object.lastSeq()];
  });
  expect(visible).toBeGreaterThanOrEqual(first!);
});

it("a task that asks again waits again, and an answer over A2A continues it", async () => {
  const caller = await newCaller();
  const message = { ...message1(""), parts: [{ data: { said: [] } }] };
  const { task } = await result(caller, "SendMessage", { message }, { agent: "twice" });
  const thread = task.id.slice(0, 36);
  await CHANNELS["the streaming protocol"]!(caller, thread, (await listQuestions(caller, thread))[0]!.id);
  const readState = async () => {
    const { status, interrupts } = await get<{ status: string; interrupts: Json }>(caller, `/threads/${thread}`);
    return {
      status,
      asked: Object.values(interrupts)
        .flat()
        .map((one: Any) => one.value),
    };
  };
  await expect.poll(readState).toEqual({ status: "interrupted", asked: ["two?"] });
  const again = await result(caller, "GetTask", { id: task.id }, { agent: "twice" });
  expect([again.status.state, again.status.message.parts]).toEqual(["TASK_STATE_INPUT_REQUIRED", [{ text: "two?" }]]);
  const second = { ...message1("2"), taskId: task.id };
  const { task: done } = await result(caller, "SendMessage", { message: second }, { agent: "twice" });
  expect(done.status.state).toBe("TASK_STATE_COMPLETED");
  expect(await waitForEnd(caller, thread)).toEqual({ said: ['["yes","2"]'] });
});

it("a thread that moves on without an answer cancels its task", async () => {
  const caller = await newCaller();
  const { id, thread } = await beginTask(caller);
  const body = { assistant_id: "plain", input: { said: [] } };
  await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
  const task = await result(caller, "GetTask", { id }, { agent: "plain" });
  expect(task.status.state).toBe("TASK_STATE_CANCELED");
  expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "interrupted" });
});
