import "../../support/graphs.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { threadStub } from "../../../src/threads/remote.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { type Any, type Json, message03, message1, result, rpc } from "./rpc.ts";
import { checkResult } from "./shapes.ts";
import { rowsIn } from "../../support/thread-tables.ts";

interface Pushed {
  url: string;
  redirect: RequestInit["redirect"];
  headers: Headers;
  body: Any;
}

let caller: Caller;
let pushed: Pushed[];
/** What the receiver answers, in order; then 200. */
let answers: (() => Response | Promise<Response>)[];

beforeAll(async () => {
  caller = await newCaller();
});
beforeEach(() => {
  pushed = [];
  answers = [];
  stubFetch(async (url, { redirect, headers, body }) => {
    pushed.push({ url, redirect, headers: new Headers(headers), body: JSON.parse(body as string) });
    return (await answers.shift()?.()) ?? new Response();
  });
});
afterEach(() => vi.unstubAllGlobals());

const HOOK = "https://push.example/a2a";
const toThreadId = (taskId: string) => taskId.split(":")[0] ?? "";
const code = async (method: string, params: Json) => (await rpc(caller, method, params)).error?.code;
const send = async (text: string, push?: Json, more: Json = {}, configuration: Json = {}) => {
  const all = { ...configuration, ...(push && { taskPushNotificationConfig: { url: HOOK, ...push } }) };
  return (await result(caller, "SendMessage", { message: message1(text, more), configuration: all })).task;
};
const rest = () => send("ask");
/** A configuration as it is read back. */
const dropCredentials = (given: Json) => JSON.parse(JSON.stringify(given).replace(/,"credentials":"[^"]*"/, ""));
const listStates = (all: Pushed[]) =>
  all.map(({ body }) => (body.task ?? body).status.state.replace("TASK_STATE_", ""));

/** The states sent so far, once the thread's outbox is empty. */
async function readTold(taskId: string): Promise<string[]> {
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${toThreadId(taskId)}`);
  const sql = "SELECT * FROM outbox WHERE kind <> 'trace'";
  const left = () => runInDurableObject(stub, (_, { storage }) => rowsIn(storage, sql));
  await expect.poll(left, { timeout: 20_000 }).toEqual([]);
  return listStates(pushed);
}

describe("a push notification", () => {
  it("reports the beginning, each pause and the end, in order, with the task's state", async () => {
    const asked = await send("ask", { id: "mine" });
    expect((await readTold(asked.id)).at(-1)).toBe("INPUT_REQUIRED");
    await send("red", undefined, { taskId: asked.id });
    // A beginning is left out when the end has overtaken it.
    expect((await readTold(asked.id)).join(" ")).toMatch(/^(WORKING )?INPUT_REQUIRED (WORKING )?COMPLETED$/);
    for (const { body } of pushed) checkResult("SendStreamingMessage", body);
    expect(pushed.at(-1)?.body.task).toEqual(await result(caller, "GetTask", { id: asked.id }));
  });

  it("reports the beginning of long work immediately", async () => {
    const { id } = await send("forever", {}, {}, { returnImmediately: true });
    await expect.poll(() => listStates(pushed)).toEqual(["WORKING"]);
    await result(caller, "CancelTask", { id });
    expect(await readTold(id)).toEqual(["WORKING", "CANCELED"]);
  });

  it("is in the format of the generation that requested it, with what was configured", async () => {
    const push = { url: HOOK, token: "t0k", authentication: { schemes: ["Basic"], credentials: "dTpw" } };
    const configuration = { pushNotificationConfig: push };
    const old = await result(caller, "message/send", { message: message03("hello"), configuration });
    expect((await readTold(old.id)).at(-1)).toBe("completed");
    const { headers, body, redirect } = pushed.at(-1)!;
    checkResult("tasks/get", body);
    expect(body.id).toBe(old.id);
    expect(redirect).toBe("manual");
    expect([...headers]).toEqual([
      ["authorization", "Basic dTpw"],
      ["content-type", "application/json"],
      ["weir-delivery", expect.stringMatching(/^[0-9a-f]{32}$/)],
      ["x-a2a-notification-token", "t0k"],
    ]);
    pushed = [];
    const { id } = await send("hello");
    expect(await readTold(id)).toEqual([]);
    const bare = await send("hello", {});
    expect((await readTold(bare.id)).at(-1)).toBe("COMPLETED");
    expect([...pushed.at(-1)!.headers]).toEqual([
      ["a2a-version", "1.0"],
      ["content-type", "application/a2a+json"],
      ["weir-delivery", expect.any(String)],
    ]);
  });

  it("is sent again until the receiver takes it, and then no more", async () => {
    const { id } = await rest();
    await readTold(id);
    // While this one is under way, the alarm comes as well.
    const answerSlowly = async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return new Response("", { status: 500 });
    };
    answers = [answerSlowly, () => Response.redirect("https://elsewhere.example/", 307)];
    await result(caller, "CreateTaskPushNotificationConfig", { taskId: id, url: HOOK });
    expect(await readTold(id)).toEqual(["INPUT_REQUIRED", "INPUT_REQUIRED", "INPUT_REQUIRED"]);
    expect(new Set(pushed.map(({ url }) => url))).toEqual(new Set([HOOK]));
  });

  it("comes at once for a task that has ended before its receiver was set", async () => {
    const { id } = await send("hello");
    await readTold(id);
    await result(caller, "CreateTaskPushNotificationConfig", { taskId: id, url: HOOK });
    expect(await readTold(id)).toEqual(["COMPLETED"]);
  });

  it("is not sent after the receiver was deleted", async () => {
    const { id } = await send("ask", { id: "mine" });
    await readTold(id);
    await result(caller, "DeleteTaskPushNotificationConfig", { taskId: id, id: "mine" });
    pushed = [];
    await send("red", undefined, { taskId: id });
    expect(await readTold(id)).toEqual([]);
  });

  it("is not sent to a private address, even if one was set when that was allowed", async () => {
    const { id } = await rest();
    const thread = threadStub(env, caller.workspaceId, toThreadId(id));
    const config = { id: "old", url: "https://169.254.169.254/latest" };
    await thread.setHook(id.split(":")[1] as string, "old", { generation: "1.0", config }, 10);
    await send("red", undefined, { taskId: id });
    expect(await readTold(id)).toEqual([]);
  });
});

describe("push configuration", () => {
  it("is set, read, listed and deleted in both generations", async () => {
    const { id: taskId } = await rest();
    const url = HOOK;
    const config = { taskId, id: "one", url, token: "t", authentication: { scheme: "Bearer", credentials: "c" } };
    expect(await result(caller, "CreateTaskPushNotificationConfig", config)).toEqual(config);
    expect(await result(caller, "GetTaskPushNotificationConfig", { taskId, id: "one" })).toEqual(
      dropCredentials(config),
    );
    const old = {
      taskId,
      pushNotificationConfig: { id: "two", url, authentication: { schemes: ["Basic"], credentials: "x" } },
    };
    expect(await result(caller, "tasks/pushNotificationConfig/set", old)).toEqual(old);
    expect(await result(caller, "tasks/pushNotificationConfig/list", { id: taskId })).toHaveLength(2);
    expect((await result(caller, "ListTaskPushNotificationConfigs", { taskId })).configs).toHaveLength(2);
    expect(
      await result(caller, "tasks/pushNotificationConfig/get", { id: taskId, pushNotificationConfigId: "two" }),
    ).toEqual(dropCredentials(old));
    for (const _ of [1, 2]) await result(caller, "DeleteTaskPushNotificationConfig", { taskId, id: "one" });
    await result(caller, "tasks/pushNotificationConfig/delete", { id: taskId, pushNotificationConfigId: "two" });
    expect(await code("GetTaskPushNotificationConfig", { taskId, id: "one" })).toBe(-32001);
    await readTold(taskId);
  });

  it("has the id default when it is the task's first without an id, and then one of its own", async () => {
    const { id: taskId } = await rest();
    const set = async (more: Json) =>
      (await result(caller, "CreateTaskPushNotificationConfig", { taskId, ...more })).id;
    const read = async (more: Json) =>
      (await result(caller, "tasks/pushNotificationConfig/get", { id: taskId, ...more })).pushNotificationConfig.url;
    await set({ id: "mine", url: `${HOOK}/mine` });
    expect(await set({ url: `${HOOK}/1` })).toBe("default");
    const second = await set({ url: `${HOOK}/2` });
    expect(second).not.toBe("default");
    expect(await read({ pushNotificationConfigId: "default" })).toBe(`${HOOK}/1`);
    expect(await read({ pushNotificationConfigId: second })).toBe(`${HOOK}/2`);
    await readTold(taskId);
    const sent = await send("ask", {});
    const listConfigIds = async () =>
      (await result(caller, "ListTaskPushNotificationConfigs", { taskId: sent.id })).configs.map(({ id }: Json) => id);
    expect(await listConfigIds()).toEqual(["default"]);
    await send("red", { url: `${HOOK}/2` }, { taskId: sent.id });
    expect(await listConfigIds()).toEqual(["default", expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    await readTold(sent.id);
  });

  it("takes public https addresses only, one line a secret, and ten at most", async () => {
    const { id: taskId } = await rest();
    const set = (more: Json) =>
      code("CreateTaskPushNotificationConfig", { taskId, url: "https://hooks.example", ...more });
    for (const url of [
      "http://hooks.example",
      "https://127.0.0.1/x",
      "https://[::1]/",
      "https://169.254.169.254/",
      "https://localhost",
      "https://10.0.0.1",
      "https://wiki.corp",
      "https://printer.lan.",
      "ftp://x.example",
      "nonsense",
    ]) {
      expect(await set({ url })).toBe(-32602);
      const push = { taskPushNotificationConfig: { url } };
      expect(await code("SendMessage", { message: message1("hi"), configuration: push })).toBe(-32602);
    }
    expect(await set({ authentication: { scheme: "Bearer\r\nx-evil: 1", credentials: "c" } })).toBe(-32602);
    expect(await set({ token: "a\r\nx-evil: 1" })).toBe(-32602);
    expect(await set({ authentication: { scheme: "Bearer", credentials: "a\nb" } })).toBe(-32602);
    expect(pushed).toEqual([]);
    for (let i = 0; i < 10; i += 1) expect(await set({ id: `n${i}` })).toBeUndefined();
    expect(await set({ id: "one too many" })).toBe(-32004);
    expect(await readTold(taskId)).toHaveLength(10);
  });
});
