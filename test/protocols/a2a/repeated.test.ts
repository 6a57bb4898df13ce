/** A streamed message that its client repeats under one Idempotency-Key: one run, and the same task again. */
import "../../support/graphs.ts";
import { beforeAll, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get } from "../../threads/client.ts";
import { events, type Json, message03, message1, sendRaw, stream } from "./rpc.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const createKeyOptions = () => ({ headers: { "idempotency-key": crypto.randomUUID() } });
const listRuns = (task: Json) => get<unknown[]>(caller, `/threads/${task.contextId}/runs`);

it.each([
  ["a new context", {}, {}],
  ["a context that the caller names", { contextId: crypto.randomUUID() }, {}],
  ["a context named by the caller's thread_id", {}, { metadata: { thread_id: crypto.randomUUID() } }],
])("is one task in %s", async (_, more, options) => {
  const sent = { message: message1("chunks", more) };
  const under = { ...createKeyOptions(), ...options };
  const [first] = await events(caller, "SendStreamingMessage", sent, under);
  const again = await events(caller, "SendStreamingMessage", sent, under);
  expect(again).toMatchObject([{ task: { id: first.task.id, status: { state: "TASK_STATE_COMPLETED" } } }]);
  expect(await listRuns(first.task)).toHaveLength(1);
});

it("ends with a final event for callers by 0.3", async () => {
  const sent = { message: message03("chunks") };
  const under = createKeyOptions();
  const first = await events(caller, "message/stream", sent, under);
  const again = await events(caller, "message/stream", sent, under);
  expect(again.map(({ kind, final }) => [kind, final])).toEqual([
    ["task", undefined],
    ["status-update", true],
  ]);
  expect(again[0].id).toBe(first[0].id);
  expect(await listRuns(first[0])).toHaveLength(1);
});

it("gets the rest when the client left in the middle", async () => {
  const sent = { message: message1("count to 20") };
  const under = { ...createKeyOptions(), agent: "agent" };
  let begun: Json = {};
  for await (const one of stream(caller, "SendStreamingMessage", sent, under)) {
    begun = one.task ?? begun;
    if (one.artifactUpdate) break;
  }
  const rest = await events(caller, "SendStreamingMessage", sent, under);
  expect(rest[0].task).toMatchObject({ id: begun.id });
  const last = rest.at(-1);
  expect((last.statusUpdate ?? last.task).status.state).toBe("TASK_STATE_COMPLETED");
  expect(await listRuns(begun)).toHaveLength(1);
});

it("answers a task's question once", async () => {
  const [{ task }] = await events(caller, "SendStreamingMessage", { message: message1("ask") });
  const sent = { message: message1("blue", { taskId: task.id }) };
  const under = createKeyOptions();
  await events(caller, "SendStreamingMessage", sent, under);
  const again = await events(caller, "SendStreamingMessage", sent, under);
  expect(again).toMatchObject([{ task: { id: task.id, status: { state: "TASK_STATE_COMPLETED" } } }]);
  expect(await listRuns(task)).toHaveLength(2);
});

it.each(["run", "thread"])("does not run again when its %s was deleted", async (what) => {
  const sent = { message: message1("chunks") };
  const under = createKeyOptions();
  const [{ task }] = await events(caller, "SendStreamingMessage", sent, under);
  const thread = `/threads/${task.contextId}`;
  const [run] = (await listRuns(task)) as { run_id: string }[];
  const path = what === "run" ? `${thread}/runs/${run?.run_id}` : thread;
  expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(204);
  // The same request, byte by byte.
  const again = await sendRaw(caller, { jsonrpc: "2.0", id: "s", method: "SendStreamingMessage", params: sent }, under);
  expect(await again.json()).toMatchObject({ error: { code: -32004, message: expect.stringContaining("deleted") } });
  expect((await caller.fetch(`${thread}/runs`)).status).toBe(what === "run" ? 200 : 404);
});
