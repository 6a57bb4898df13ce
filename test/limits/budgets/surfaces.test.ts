/** Each way to start a run shows the question of a budget, and takes its answer, as those of a graph. */
import { beforeEach, expect, it } from "vitest";
import { message1, result } from "../../protocols/a2a/rpc.ts";
import { connectSecond } from "../../protocols/mcp/connect.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread } from "../../threads/client.ts";
import { listQuestions, calls, put, TOKENS } from "./spending.ts";

let caller: Caller;
let name: string;
beforeEach(async () => {
  caller = await newCaller();
  name = crypto.randomUUID();
  await put(caller, "each-run", { per: "run", tokens: TOKENS });
});

const reached = expect.stringContaining('The budget "each-run" is reached: 1000 tokens of 1000 tokens a run.');

it("A2A", async () => {
  const agent = { agent: "talking" };
  const { task } = await result(caller, "SendMessage", { message: message1(name) }, agent);
  expect(task.status).toMatchObject({
    state: "TASK_STATE_INPUT_REQUIRED",
    message: { parts: [{ text: reached }, {}] },
  });
  const answer = { message: message1("yes", { taskId: task.id, contextId: task.contextId }) };
  const done = await result(caller, "SendMessage", answer, agent);
  expect(done.task).toMatchObject({ id: task.id, status: { state: "TASK_STATE_COMPLETED" } });
  expect(calls.get(name)).toBe(2);
});

it("MCP", async () => {
  const client = await connectSecond(caller.key, ({ message }) => {
    expect(message).toEqual(reached);
    return { action: "accept", content: { answer: "1000" } };
  });
  const called = await client.callTool({ name: "talking", arguments: { messages: [{ role: "user", content: name }] } });
  expect(called).toMatchObject({ isError: false, content: [{ text: "said" }] });
  expect(calls.get(name)).toBe(2);
  await client.close();
});

it("AG-UI", async () => {
  const threadId = crypto.randomUUID();
  const messages = [{ id: "m", role: "user", content: name }];
  const call = async (more: object) => {
    const body = { threadId, runId: crypto.randomUUID(), messages, tools: [], context: [], ...more };
    return (await caller.fetch("/agui/talking", { body })).text();
  };
  expect(await call({})).toContain("is reached: 1000 tokens");
  const [question] = await listQuestions(caller, threadId);
  await call({ resume: [{ interruptId: question?.id, status: "cancelled" }] });
  const declined = await get<{ status: string }>(caller, `/threads/${threadId}`);
  expect([declined.status, calls.get(name)]).toEqual(["error", 1]);
  expect(
    await call({ resume: [{ interruptId: question?.id, status: "resolved", payload: { approve: true } }] }),
  ).toContain("RUN_FINISHED");
  expect(calls.get(name)).toBe(2);
});

it("the streaming protocol", async () => {
  const thread = await newThread(caller);
  const command = async (method: string, params: object) => {
    const response = await caller.fetch(`/threads/${thread}/commands`, { body: { id: 1, method, params } });
    return response.json<{ result?: { run_id: string } }>();
  };
  const input = { messages: [{ role: "user", content: name }] };
  const { result: first } = await command("run.start", { assistant_id: "talking", input });
  await (await caller.fetch(`/threads/${thread}/runs/${first?.run_id}/join`)).text();
  const [question] = await listQuestions(caller, thread);
  expect(question?.value).toMatchObject({ type: "budget", message: reached });
  await command("input.respond", {
    interrupt_id: question?.id,
    namespace: [],
    response: { approve: true },
  });
  await expect.poll(async () => listQuestions(caller, thread)).toEqual([]);
  expect(calls.get(name)).toBe(2);
});

it("a stateless run that is kept is answered on its thread", async () => {
  const input = { messages: [{ role: "user", content: name }] };
  const response = await caller.fetch("/runs", { body: { assistant_id: "talking", input, on_completion: "keep" } });
  const { thread_id: thread, run_id } = await response.json<{ thread_id: string; run_id: string }>();
  await (await caller.fetch(`/threads/${thread}/runs/${run_id}/join`)).text();
  expect(await listQuestions(caller, thread)).toMatchObject([{ value: { budget: "each-run" } }]);
});
