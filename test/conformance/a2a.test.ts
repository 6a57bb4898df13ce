/** The A2A SDKs, unmodified, over HTTP: 1.3.0 as it comes and in its legacy mode, and 0.3.14. */
import { type Message, type Task, TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import * as sdk03 from "a2a-sdk-0-3/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectA2a, fetchAs, createMessage, joinText } from "../support/a2a-client.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { pickCases } from "../support/thorough.ts";

let server: TestServer;
let receiver: Receiver;

beforeAll(async () => {
  server = await sharedServer("graphs");
  receiver = await startReceiver();
});
afterAll(async () => {
  receiver.stop();
  await server.stop();
});

/** If the card does not list version 1.0, the client uses 0.3. */
const fetchOldCard: typeof fetch = async (input, init) => {
  const { url } = new Request(input);
  if (!url.endsWith("agent-card.json")) return fetchAs(server)(input, init);
  const { supportedInterfaces: _, ...card } = await (await fetchAs(server)(url)).json<Record<string, unknown>>();
  return Response.json(card);
};

const COUNTED = Array.from({ length: 20 }, (_, i) => `${i + 1} `).join("");
const modes = [
  { legacy: false, wire: "1.0" },
  { legacy: true, wire: "1.0" },
  { legacy: true, wire: "0.3" },
];

/** What the client says, which does not ask: 0.3 has no list over JSON-RPC. */
const NO_LIST = "Method not found: tasks/list";

describe.each(pickCases(modes, 1))("@a2a-js/sdk 1.3.0, legacyCompat $legacy, speaking $wire", ({ legacy, wire }) => {
  const connect = async (agent = "actor") =>
    connectA2a(server, agent, { legacy, ...(wire === "0.3" && { fetchImpl: fetchOldCard }) });
  const ask = async (client: Client, text: string, more: Partial<Message> = {}) =>
    (await client.sendMessage(createMessage(text, more))) as Task;

  it("finds the agent, sends, continues in the context, and gets", async () => {
    const client = await connect();
    const first = await ask(client, "one");
    expect(first.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(joinText(first.artifacts[0]?.parts)).toBe("You said: one");
    const second = await ask(client, "two", { contextId: first.contextId });
    expect(second.contextId).toBe(first.contextId);
    expect((await client.getTask({ tenant: "", id: second.id })).artifacts).toEqual(second.artifacts);
  });

  it("lists the tasks of a context", async () => {
    const client = await connect();
    const first = await ask(client, "one");
    const second = await ask(client, "two", { contextId: first.contextId });
    const listing = client.listTasks({
      tenant: "",
      contextId: first.contextId,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: "",
      statusTimestampAfter: undefined,
    });
    const ids = await listing.then(({ tasks }) => tasks.map(({ id }) => id)).catch((error: Error) => error.message);
    expect(ids).toEqual(wire === "0.3" ? NO_LIST : [second.id, first.id]);
  });

  it("streams, loses the stream and takes it up again", async () => {
    const client = await connect();
    let id = "";
    for await (const { payload } of client.sendMessageStream(createMessage("slow"))) {
      if (payload?.$case === "task") id = payload.value.id;
      if (payload?.$case === "artifactUpdate" && payload.value.append) break;
    }
    let text = "";
    let state: TaskState | undefined;
    for await (const { payload } of client.resubscribeTask({ tenant: "", id })) {
      if (payload?.$case === "task") text = joinText(payload.value.artifacts[0]?.parts);
      if (payload?.$case === "artifactUpdate") text += joinText(payload.value.artifact?.parts);
      if (payload?.$case === "statusUpdate") state = payload.value.status?.state;
    }
    expect(text).toBe(COUNTED);
    expect(state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it("receives a question, answers, cancels, and reads errors", async () => {
    const client = await connect();
    const asked = await ask(client, "ask");
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await ask(client, "red", { taskId: asked.id, contextId: asked.contextId });
    expect([done.id, joinText(done.artifacts[0]?.parts)]).toEqual([asked.id, 'You chose "red".']);
    const other = await ask(client, "ask");
    const canceled = await client.cancelTask({ tenant: "", id: other.id, metadata: undefined });
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.getTask({ tenant: "", id: "nope" })).rejects.toThrow("Task not found");
    await expect(client.cancelTask({ tenant: "", id: done.id, metadata: undefined })).rejects.toThrow(
      "cannot be cancelled",
    );
  });

  it("is notified at its own address, again after a failure, and never at a redirect's target", async () => {
    const client = await connect();
    const path = `/${crypto.randomUUID()}`;
    const push = {
      tenant: "",
      id: "",
      taskId: "",
      url: receiver.url + path,
      token: "t0k",
      authentication: { scheme: "Bearer", credentials: "c" },
    };
    receiver.answers.push(503, "/elsewhere");
    await client.sendMessage(createMessage("hello", {}, { taskPushNotificationConfig: push }));
    const listTold = () => receiver.received.filter((one) => one.path === path);
    await expect.poll(() => listTold().length, { timeout: 30_000 }).toBe(3);
    const { task, status } = listTold()[2]?.body ?? {};
    expect((status ?? task.status).state).toMatch(/completed/i);
    expect(receiver.received.map((one) => one.path)).not.toContain("/elsewhere");
    for (const { headers } of listTold()) {
      expect(headers).toMatchObject({ authorization: "Bearer c", "x-a2a-notification-token": "t0k" });
      expect(headers["content-type"]).toBe(wire === "1.0" ? "application/a2a+json" : "application/json");
    }
  });

  it("sets, reads, lists and deletes receivers", async () => {
    const client = await connect();
    const { id: taskId } = await ask(client, "ask");
    const url = `${receiver.url}/${crypto.randomUUID()}`;
    const authentication = { scheme: "Basic", credentials: "dTpw" };
    const config = { tenant: "", taskId, id: "one", url, token: "t", authentication };
    expect(await client.createTaskPushNotificationConfig(config)).toMatchObject({ id: "one", url, token: "t" });
    expect(await client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "one" })).toMatchObject({
      url,
      authentication: { scheme: "Basic", credentials: "" },
    });
    const list = async () =>
      (await client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" })).configs;
    expect((await list()).map(({ id }) => id)).toEqual(["one"]);
    await client.deleteTaskPushNotificationConfig({ tenant: "", taskId, id: "one" });
    expect(await list()).toEqual([]);
  });
});

describe("@a2a-js/sdk 0.3.14", () => {
  const connect = () =>
    sdk03.A2AClient.fromCardUrl(`${server.url}/a2a/actor/.well-known/agent-card.json`, { fetchImpl: fetchAs(server) });
  const message = (text: string, more: object = {}) => ({
    message: {
      kind: "message" as const,
      messageId: crypto.randomUUID(),
      role: "user" as const,
      parts: [{ kind: "text" as const, text }],
      ...more,
    },
  });

  it("finds the agent, sends, streams, receives a question and answers", async () => {
    const client = await connect();
    const sent = await client.sendMessage(message("ask"));
    if (!("result" in sent) || sent.result.kind !== "task") throw new Error(JSON.stringify(sent));
    expect(sent.result.status.state).toBe("input-required");
    const { id: taskId, contextId } = sent.result;
    const answered = await client.sendMessage(message("blue", { taskId, contextId }));
    expect(answered).toMatchObject({ result: { id: taskId, status: { state: "completed" } } });
    const kinds: string[] = [];
    for await (const event of client.sendMessageStream(message("chunks"))) kinds.push(event.kind);
    expect(kinds).toEqual([
      "task",
      "status-update",
      "artifact-update",
      "artifact-update",
      "artifact-update",
      "status-update",
    ]);
    expect(await client.getTask({ id: taskId })).toMatchObject({ result: { id: taskId } });
    expect(await client.cancelTask({ id: taskId })).toMatchObject({ error: { code: -32002 } });
  });

  it("loses a stream and takes it up again", async () => {
    const client = await connect();
    let id = "";
    for await (const event of client.sendMessageStream(message("slow"))) {
      if (event.kind === "task") ({ id } = event);
      if (event.kind === "artifact-update" && event.append) break;
    }
    const joinText = (parts: { kind: string }[] = []) =>
      parts.map((part) => ("text" in part ? String(part.text) : "")).join("");
    let text = "";
    let state: string | undefined;
    for await (const event of client.resubscribeTask({ id })) {
      if (event.kind === "task") text = joinText(event.artifacts?.[0]?.parts);
      if (event.kind === "artifact-update") text += joinText(event.artifact.parts);
      if (event.kind === "status-update") ({ state } = event.status);
    }
    expect([text, state]).toEqual([COUNTED, "completed"]);
  });

  it("sets, reads, lists and deletes receivers, and is notified", async () => {
    const client = await connect();
    const sent = await client.sendMessage(message("ask"));
    if (!("result" in sent) || sent.result.kind !== "task") throw new Error(JSON.stringify(sent));
    const { id: taskId } = sent.result;
    const path = `/${crypto.randomUUID()}`;
    const pushNotificationConfig = { id: "one", url: receiver.url + path, token: "t" };
    const set = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig });
    expect(set).toMatchObject({ result: { taskId, pushNotificationConfig } });
    expect(await client.getTaskPushNotificationConfig({ id: taskId })).toMatchObject({
      result: { taskId, pushNotificationConfig },
    });
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toMatchObject({
      result: [{ taskId, pushNotificationConfig }],
    });
    await client.sendMessage(message("blue", { taskId }));
    const listTold = () => receiver.received.filter((one) => one.path === path);
    await expect.poll(() => listTold().at(-1)?.body.status.state, { timeout: 20_000 }).toBe("completed");
    expect(listTold().at(-1)).toMatchObject({ headers: { "x-a2a-notification-token": "t" }, body: { id: taskId } });
    await client.deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: "one" });
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toMatchObject({ result: [] });
  });
});
