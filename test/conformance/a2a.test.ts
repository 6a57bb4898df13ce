/** The A2A SDKs, unmodified, over HTTP: 1.3.0 as it comes and in its legacy mode, and 0.3.14. */
import { createServer, type Server } from "node:http";
import { type Message, Role, type SendMessageRequest, type Task, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import * as sdk03 from "a2a-sdk-0-3/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer, withTestGraphs } from "../support/server.ts";

let server: TestServer;
let receiver: Server;
let pushed: {
  headers: Record<string, unknown>;
  body: { task?: { status: { state: string } }; status?: { state: string } };
}[];
let pushUrl: string;

beforeAll(async () => {
  server = await startServer({ ALLOW_PRIVATE_ADDRESSES: "true" }, withTestGraphs());
  pushed = [];
  receiver = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      pushed.push({ headers: request.headers, body: JSON.parse(text) });
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const address = receiver.address();
  pushUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/hook`;
});
afterAll(async () => {
  receiver.close();
  await server.stop();
});

const fetchWithKey: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set("x-api-key", server.key);
  return fetch(input, { ...init, headers });
};
const say = (text: string, more: Partial<Message> = {}): Message => ({
  messageId: crypto.randomUUID(),
  role: Role.ROLE_USER,
  parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
  contextId: "",
  taskId: "",
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
  ...more,
});
const textOf = (parts: Message["parts"] = []) =>
  parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");

const request = (
  message: Message,
  more: Partial<NonNullable<SendMessageRequest["configuration"]>> = {},
): SendMessageRequest => ({
  tenant: "",
  message,
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false, ...more },
  metadata: undefined,
});

describe.each([{ legacy: false }, { legacy: true }])("@a2a-js/sdk 1.3.0, legacyCompat $legacy", ({ legacy }) => {
  const connect = async (agent = "actor") => {
    const options = { fetchImpl: fetchWithKey, ...(legacy && { legacyCompat: { enabled: true } }) };
    const factory = new ClientFactory(
      ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        cardResolver: new DefaultAgentCardResolver(options),
        transports: [new JsonRpcTransportFactory(options)],
      }),
    );
    return factory.createFromUrl(server.url, `/a2a/${agent}/.well-known/agent-card.json`);
  };
  const ask = async (client: Awaited<ReturnType<typeof connect>>, text: string, more: Partial<Message> = {}) =>
    (await client.sendMessage(request(say(text, more)))) as Task;

  it("finds the agent, sends, goes on in the context, gets and lists", async () => {
    const client = await connect();
    const first = await ask(client, "one");
    expect(first.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textOf(first.artifacts[0]?.parts)).toBe("You said: one");
    const second = await ask(client, "two", { contextId: first.contextId });
    expect(second.contextId).toBe(first.contextId);
    expect((await client.getTask({ tenant: "", id: second.id })).artifacts).toEqual(second.artifacts);
    const listed = await client.listTasks({
      tenant: "",
      contextId: first.contextId,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: "",
      statusTimestampAfter: undefined,
    });
    expect(listed.tasks.map(({ id }) => id)).toEqual([second.id, first.id]);
  });

  it("streams, loses the stream and takes it up again", async () => {
    const client = await connect();
    let id = "";
    for await (const { payload } of client.sendMessageStream(request(say("slow")))) {
      if (payload?.$case === "task") id = payload.value.id;
      if (payload?.$case === "artifactUpdate" && payload.value.append) break;
    }
    let text = "";
    let state: TaskState | undefined;
    for await (const { payload } of client.resubscribeTask({ tenant: "", id })) {
      if (payload?.$case === "task") text = textOf(payload.value.artifacts[0]?.parts);
      if (payload?.$case === "artifactUpdate") text += textOf(payload.value.artifact?.parts);
      if (payload?.$case === "statusUpdate") state = payload.value.status?.state;
    }
    expect(text).toBe(Array.from({ length: 20 }, (_, i) => `${i + 1} `).join(""));
    expect(state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it("is asked, answers, cancels, and reads errors", async () => {
    const client = await connect();
    const asked = await ask(client, "ask");
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await ask(client, "red", { taskId: asked.id, contextId: asked.contextId });
    expect([done.id, textOf(done.artifacts[0]?.parts)]).toEqual([asked.id, 'You chose "red".']);
    const other = await ask(client, "ask");
    const canceled = await client.cancelTask({ tenant: "", id: other.id, metadata: undefined });
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.getTask({ tenant: "", id: "nope" })).rejects.toThrow("Task not found");
    await expect(client.cancelTask({ tenant: "", id: done.id, metadata: undefined })).rejects.toThrow(
      "cannot be cancelled",
    );
  });

  it("is told of the end at its own address", async () => {
    const client = await connect();
    const token = crypto.randomUUID();
    const push = {
      tenant: "",
      id: "",
      taskId: "",
      url: pushUrl,
      token,
      authentication: { scheme: "Bearer", credentials: "c" },
    };
    await client.sendMessage(request(say("hello"), { taskPushNotificationConfig: push }));
    await expect
      .poll(() => pushed.some(({ headers }) => headers["x-a2a-notification-token"] === token), { timeout: 20_000 })
      .toBe(true);
    const told = pushed.find(({ headers }) => headers["x-a2a-notification-token"] === token);
    expect(told?.headers.authorization).toBe("Bearer c");
    expect(told?.body.task?.status.state ?? told?.body.status?.state).toMatch(/completed/i);
  });
});

describe("@a2a-js/sdk 0.3.14", () => {
  const connect = () =>
    sdk03.A2AClient.fromCardUrl(`${server.url}/a2a/actor/.well-known/agent-card.json`, { fetchImpl: fetchWithKey });
  const message = (text: string, more: object = {}) => ({
    message: {
      kind: "message" as const,
      messageId: crypto.randomUUID(),
      role: "user" as const,
      parts: [{ kind: "text" as const, text }],
      ...more,
    },
  });

  it("finds the agent, sends, streams, is asked and answers", async () => {
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
});
