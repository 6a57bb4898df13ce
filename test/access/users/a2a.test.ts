import "../../support/graphs.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../support/app.ts";
import { graphs, projectExports } from "../../../src/deployment.ts";
import { type Json, message1, type Reply } from "../../protocols/a2a/rpc.ts";
import { sseEvents } from "../../support/sse.ts";
import * as pack from "./pack.ts";

Object.assign(projectExports, { auth: pack.auth });
Object.assign(graphs, { echo: pack.whoami });

const send = async (user: string, path: string, body: unknown) => {
  const headers = { "content-type": "application/json", authorization: `Bearer user-${user}` };
  const request = new Request(`https://weir.test${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return app.fetch(request, env, createExecutionContext());
};
const rpc = async (user: string, method: string, params: Json, agent = "actor") => {
  const response = await send(user, `/a2a/${agent}`, { jsonrpc: "2.0", id: 1, method, params });
  return { status: response.status, ...(await response.json<Reply>()) };
};
const result = async (user: string, method: string, params: Json, agent?: string) => {
  const reply = await rpc(user, method, params, agent);
  expect(reply.error).toBeUndefined();
  return reply.result;
};
const say = async (user: string, text: string, more: Json = {}, agent?: string) =>
  (await result(user, "SendMessage", { message: message1(text, more) }, agent)).task;
const listTasks = async (user: string, query: Json = {}) => {
  const { tasks, totalSize } = await result(user, "ListTasks", query);
  expect(totalSize).toBe(tasks.length);
  return tasks.map(({ id }: Json) => id);
};

/** The address of a link is sealed anew each time. */
const toPlain = (given: Json): unknown =>
  JSON.parse(JSON.stringify(given, (name, value) => (name === "answer_url" ? "" : (value as unknown))));

let task: Json;
beforeAll(async () => {
  task = await say("ada", "ask");
});

describe("a user of the deployment's own Auth, over A2A", () => {
  it("sends, answers, gets, lists and streams what is theirs, and the graph receives who they are", async () => {
    const mine = await say("eve", "ask", { contextId: "conversation" });
    expect(toPlain(await result("eve", "GetTask", { id: mine.id }))).toEqual(toPlain(mine));
    expect(await listTasks("eve")).toEqual([mine.id]);
    expect(await listTasks("eve", { contextId: "conversation" })).toEqual([mine.id]);
    const done = await say("eve", "red", { taskId: mine.id });
    expect(done).toMatchObject({ id: mine.id, status: { state: "TASK_STATE_COMPLETED" } });
    const call = { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message: message1("hello") } };
    const kinds: string[] = [];
    for await (const { data } of sseEvents(await send("eve", "/a2a/actor", call))) {
      kinds.push(...Object.keys((data as Reply).result));
    }
    expect([kinds[0], kinds.at(-1)]).toEqual(["task", "statusUpdate"]);
    const who = await say("eve", "", { parts: [{ data: {} }] }, "echo");
    expect(who.artifacts[0].parts).toEqual([{ data: { who: "eve" } }]);
    const thread = await send("eve", "/threads/search", { ids: [mine.id.split(":")[0]] });
    expect(await thread.json()).toMatchObject([{ metadata: { owner: "eve" } }]);
  });

  const foreign: [method: string, params: () => Json][] = [
    ["GetTask", () => ({ id: task.id })],
    ["CancelTask", () => ({ id: task.id })],
    ["SubscribeToTask", () => ({ id: task.id })],
    ["SendMessage", () => ({ message: message1("red", { taskId: task.id }) })],
    ["SendStreamingMessage", () => ({ message: message1("red", { taskId: task.id }) })],
    ["SendMessage", () => ({ message: message1("hello", { contextId: task.contextId }) })],
    ["CreateTaskPushNotificationConfig", () => ({ taskId: task.id, url: "https://hooks.example/x" })],
    ["GetTaskPushNotificationConfig", () => ({ taskId: task.id, id: "x" })],
    ["ListTaskPushNotificationConfigs", () => ({ taskId: task.id })],
    ["DeleteTaskPushNotificationConfig", () => ({ taskId: task.id, id: "x" })],
  ];
  it.each(foreign)("does not reach another's: %s", async (method, params) => {
    const missing = { code: -32001, message: "Task not found." };
    expect((await rpc("bob", method, params())).error).toMatchObject(missing);
    expect(toPlain(await result("ada", "GetTask", { id: task.id }))).toEqual(toPlain(task));
  });

  it("does not find another's, nor shares a context that both have named", async () => {
    expect(await listTasks("ada")).toContain(task.id);
    expect(await listTasks("bob", { contextId: task.contextId })).toEqual([]);
    const [one, two] = [await say("fay", "one", { contextId: "same" }), await say("gil", "two", { contextId: "same" })];
    expect([one.contextId, two.contextId]).toEqual(["same", "same"]);
    expect(await listTasks("fay")).toEqual([one.id]);
    expect(await listTasks("gil", { contextId: "same" })).toEqual([two.id]);
    const next = await say("gil", "three", { contextId: "same" });
    const [threadOne, threadTwo, threadNext] = [one, two, next].map(({ id }) => id.split(":")[0]);
    expect([threadOne === threadTwo, threadNext === threadTwo]).toEqual([false, true]);
    // A name of the caller's for its traces is no way into another's thread either.
    const params = { message: message1("hello") };
    const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params, metadata: { thread_id: task.contextId } };
    const { result: fresh } = await (await send("bob", "/a2a/actor", body)).json<Reply>();
    expect(fresh.task.contextId).not.toBe(task.contextId);
  });

  it("does not run another's assistant, and gets the same error as for none", async () => {
    const made = await send("ada", "/assistants", { graph_id: "actor" });
    const { assistant_id } = await made.json<{ assistant_id: string }>();
    expect((await say("ada", "hello", {}, assistant_id)).status.state).toBe("TASK_STATE_COMPLETED");
    const refused = await rpc("bob", "SendMessage", { message: message1("hello") }, assistant_id);
    expect(refused).toEqual(await rpc("bob", "SendMessage", { message: message1("hello") }, crypto.randomUUID()));
    expect(refused.status).toBe(404);
  });

  it("gets no link to a question that they may read, and not answer", async () => {
    const seen = await result("viewer", "GetTask", { id: task.id });
    expect(seen.status.message.metadata).toEqual({ interrupts: task.status.message.metadata.interrupts });
    expect(task.status.message.metadata.answer_links).toHaveLength(1);
  });

  it("is refused what a handler refuses", async () => {
    expect((await rpc("reader", "SendMessage", { message: message1("hello") })).error).toMatchObject({ code: -32000 });
    expect(await listTasks("reader")).toEqual([]);
  });
});
