import "../../support/graphs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { events, type Json, message03, message1, result, rpc, type RpcOptions, stream } from "./rpc.ts";

let caller: Caller;
let stranger: Caller;
beforeAll(async () => {
  [caller, stranger] = [await newCaller(), await newCaller()];
});

const say = async (text: string, more: Json = {}, options: RpcOptions = {}) =>
  (await result(caller, "SendMessage", { message: message1(text, more) }, options)).task;
const start = async (text: string, options: RpcOptions = {}) => {
  const configuration = { returnImmediately: true };
  return (await result(caller, "SendMessage", { message: message1(text), configuration }, options)).task;
};
const get = (id: string, options: RpcOptions = {}) => result(caller, "GetTask", { id }, options);
const code = async (method: string, params: Json, options: RpcOptions = {}) =>
  (await rpc(caller, method, params, options)).error?.code;
const words = (task: Json) => task.artifacts?.map(({ parts }: Json) => parts[0].text);

describe("a task that asks", () => {
  it("waits for an answer, and continues with it as the same task", async () => {
    const asked = await say("ask");
    expect(asked.status).toMatchObject({
      state: "TASK_STATE_INPUT_REQUIRED",
      message: { parts: [{ text: "Which one?" }] },
    });
    const done = await say("red", { taskId: asked.id, contextId: asked.contextId });
    expect(done).toMatchObject({ id: asked.id, contextId: asked.contextId, status: { state: "TASK_STATE_COMPLETED" } });
    expect(words(done)).toEqual(['You chose "red".']);
    expect(await get(asked.id)).toEqual(done);
  });

  it("takes data as it takes text, in either generation", async () => {
    const asked = await say("askdata");
    expect(asked.status.message.parts).toMatchObject([
      { text: "Which one?" },
      { data: { id: asked.status.message.metadata.interrupts[0], value: { options: ["a", "b"] } } },
    ]);
    const done = await say("", { taskId: asked.id, parts: [{ data: { pick: "b" } }] });
    expect(words(done)).toEqual(['You chose {"pick":"b"}.']);

    const old = await result(caller, "message/send", { message: message03("askdata") });
    expect(old.status.state).toBe("input-required");
    const parts = [{ kind: "data", data: { resume: "a" } }];
    const answered = await result(caller, "message/send", { message: message03("", { taskId: old.id, parts }) });
    expect(answered.artifacts[0].parts[0].text).toBe('You chose "a".');
  });

  it("with two questions takes an answer for each by its id", async () => {
    const asked = await say("go", {}, { agent: "asker" });
    const questions: Json[] = asked.status.message.parts.filter(({ data }: Json) => data).map(({ data }: Json) => data);
    expect(questions.map(({ value }) => String(value)).toSorted()).toEqual(["Left?", "Right?"]);
    const unclear = { message: message1("yes", { taskId: asked.id }) };
    expect(await code("SendMessage", unclear, { agent: "asker" })).toBe(-32602);
    const wrong = {
      message: message1("", { taskId: asked.id, parts: [{ data: { resume: [{ id: "nope", value: 1 }] } }] }),
    };
    expect(await code("SendMessage", wrong, { agent: "asker" })).toBe(-32602);
    const resume = questions.map(({ id, value }) => ({ id, value: `to ${value}` }));
    const done = await say("", { taskId: asked.id, parts: [{ data: { resume } }] }, { agent: "asker" });
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
    expect(words(done).toSorted()).toEqual(['left "to Left?"', 'right "to Right?"']);
  });

  it("streams its question and, when answered, its end", async () => {
    const first = await events(caller, "SendStreamingMessage", { message: message1("ask") });
    expect(first.at(-1).statusUpdate.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const { id: taskId } = first[0].task;
    const second = await events(caller, "SendStreamingMessage", { message: message1("blue", { taskId }) });
    expect(second[0].task).toMatchObject({ id: taskId });
    expect(second.at(-1).statusUpdate).toMatchObject({ taskId, status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("is cancelled when the conversation continues without an answer", async () => {
    const asked = await say("ask");
    const other = await say("hello", { contextId: asked.contextId });
    expect(other.id).not.toBe(asked.id);
    expect((await get(asked.id)).status.state).toBe("TASK_STATE_CANCELED");
    expect(await code("SendMessage", { message: message1("red", { taskId: asked.id }) })).toBe(-32004);
  });

  it("may have paused because the graph said so", async () => {
    const asked = await say("login");
    expect(asked.status.state).toBe("TASK_STATE_AUTH_REQUIRED");
    const done = await say("hello", { taskId: asked.id });
    expect(done).toMatchObject({ id: asked.id, status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("lets a person decide on the approval graph's draft", async () => {
    const agent = "approval";
    const asked = await say("Send an email to ada@example.com saying hello", {}, { agent });
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const done = await say("approve", { taskId: asked.id }, { agent });
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
  });
});

describe("a message to a task", () => {
  it("that has ended is refused by 1.0, and begins the next one for 0.3", async () => {
    const ended = await say("hello");
    expect(await code("SendMessage", { message: message1("more", { taskId: ended.id }) })).toBe(-32004);
    const first = await result(caller, "message/send", { message: message03("one") });
    const { id: taskId, contextId } = first;
    const second = await result(caller, "message/send", { message: message03("two", { taskId, contextId }) });
    expect(second).toMatchObject({ contextId, status: { state: "completed" } });
    expect(second.id).not.toBe(taskId);
  });

  it("of another context is refused", async () => {
    const asked = await say("ask");
    expect(await code("SendMessage", { message: message1("x", { taskId: asked.id, contextId: "other" }) })).toBe(
      -32602,
    );
  });

  it("that works handles the message after its current run", async () => {
    const slow = await start("slow");
    const all = await events(caller, "SendStreamingMessage", { message: message1("hello", { taskId: slow.id }) });
    expect(all[0].task.id).toBe(slow.id);
    const ends = all.filter((one) => one.statusUpdate?.status.state === "TASK_STATE_COMPLETED");
    expect(ends).toHaveLength(1);
    const task = await get(slow.id);
    expect(words(task).at(-1)).toBe("You said: hello");
  });
});

describe("cancel", () => {
  it("stops a task that works, and one that waits", async () => {
    const working = await start("forever");
    expect((await result(caller, "CancelTask", { id: working.id })).status.state).toBe("TASK_STATE_CANCELED");
    const asked = await say("ask");
    const canceled = await result(caller, "tasks/cancel", { id: asked.id });
    expect(canceled).toMatchObject({ kind: "task", status: { state: "canceled" } });
    expect((await get(asked.id)).status.state).toBe("TASK_STATE_CANCELED");
    expect(await code("SendMessage", { message: message1("red", { taskId: asked.id }) })).toBe(-32004);
  });

  it("ends the streams of the task", async () => {
    const seen: Json[] = [];
    for await (const one of stream(caller, "SendStreamingMessage", { message: message1("forever") })) {
      seen.push(one);
      if (one.task) await result(caller, "CancelTask", { id: one.task.id });
    }
    expect(seen.at(-1)?.statusUpdate.status.state).toBe("TASK_STATE_CANCELED");
  });

  it("of a task that has ended is refused", async () => {
    const { id } = await say("hello");
    expect(await code("CancelTask", { id })).toBe(-32002);
    expect(await code("tasks/cancel", { id })).toBe(-32002);
  });
});

describe("the list", () => {
  it("has the newest first, by page, state, context and time", async () => {
    const own = await newCaller();
    const list = (params: Json = {}) => result(own, "ListTasks", params);
    expect(await list()).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
    const made: Json[] = [];
    for (const word of ["one", "two", "fail", "ask"]) {
      made.push((await result(own, "SendMessage", { message: message1(word) })).task);
    }
    const ids = made.map(({ id }) => id).toReversed();
    const all = await list();
    expect(all).toMatchObject({ totalSize: 4, nextPageToken: "" });
    expect(all.tasks.map(({ id }: Json) => id)).toEqual(ids);
    expect(all.tasks.every((task: Json) => !("artifacts" in task))).toBe(true);
    expect((await list({ includeArtifacts: true })).tasks.at(-1).artifacts).toHaveLength(1);
    const first = await list({ page_size: 3 });
    expect(first).toMatchObject({ pageSize: 3, totalSize: 4 });
    const second = await list({ pageSize: 3, pageToken: first.nextPageToken });
    expect([...first.tasks, ...second.tasks].map(({ id }: Json) => id)).toEqual(ids);
    expect(second.nextPageToken).toBe("");
    const listTaskIds = async (params: Json) => (await list(params)).tasks.map(({ id }: Json) => id);
    expect(await listTaskIds({ status: "TASK_STATE_FAILED" })).toEqual([made[2]?.id]);
    expect(await listTaskIds({ status: "TASK_STATE_INPUT_REQUIRED" })).toEqual([made[3]?.id]);
    expect(await listTaskIds({ contextId: made[0]?.contextId })).toEqual([made[0]?.id]);
    expect(await listTaskIds({ statusTimestampAfter: made[1]?.status.timestamp })).toEqual(ids.slice(0, 3));
    for (const wrong of [{ pageSize: 101 }, { pageToken: "x" }, { status: "DONE" }, { statusTimestampAfter: "soon" }]) {
      expect((await rpc(own, "ListTasks", wrong)).error?.code).toBe(-32602);
    }
  });
});

describe("a task of another caller", () => {
  const methods = (id: string): [string, Json][] => [
    ["GetTask", { id }],
    ["CancelTask", { id }],
    ["SubscribeToTask", { id }],
    ["SendMessage", { message: message1("x", { taskId: id }) }],
    ["SendStreamingMessage", { message: message1("x", { taskId: id }) }],
    ["CreateTaskPushNotificationConfig", { taskId: id, url: "https://hooks.example/x" }],
    ["GetTaskPushNotificationConfig", { taskId: id, id: "x" }],
    ["ListTaskPushNotificationConfigs", { taskId: id }],
    ["DeleteTaskPushNotificationConfig", { taskId: id, id: "x" }],
    ["tasks/get", { id }],
    ["tasks/cancel", { id }],
    ["tasks/resubscribe", { id }],
    ["message/send", { message: message03("x", { taskId: id }) }],
  ];

  it("is not found, in the same words as one that does not exist", async () => {
    const { id, contextId } = await say("ask");
    const missing = `${crypto.randomUUID()}:${crypto.randomUUID()}`;
    for (const [i, [method, params]] of methods(id).entries()) {
      const unknown = await rpc(stranger, methods(missing)[i]![0], methods(missing)[i]![1]);
      expect(unknown.error).toMatchObject({ code: -32001, message: "Task not found." });
      expect((await rpc(stranger, method, params)).error).toEqual(unknown.error);
      expect((await rpc(caller, method, params, { agent: "echo" })).error).toEqual(unknown.error);
    }
    expect((await get(id)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    // The other caller's context of the same name is another one.
    await result(stranger, "SendMessage", { message: message1("hello", { contextId }) });
    expect((await get(id)).history).toHaveLength(1);
    expect((await result(stranger, "ListTasks", {})).tasks.map(({ id }: Json) => id)).not.toContain(id);
  });
});
