import "../../support/graphs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { type Json, message03, message1, sendRaw, type Reply, rpc } from "./rpc.ts";
import { checkFailure } from "./shapes.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const call = (more: Json) => ({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "x" }, ...more });
const nestLists = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const send = (message: unknown, more: Json = {}) => call({ method: "SendMessage", params: { message, ...more } });
const parts = (...given: unknown[]) => send(message1("", { parts: given }));

/** What is sent, the code it is refused with, and the id in the answer. */
const TABLE: [name: string, body: unknown, code: number, id: unknown][] = [
  ["no JSON", "{", -32700, null],
  ["nothing", "", -32700, null],
  ["bytes that are no text", new Uint8Array([0xff, 0xfe, 0x7b]), -32700, null],
  ["a batch", [call({})], -32600, null],
  ["an empty batch", "[]", -32600, null],
  ["a number", "7", -32600, null],
  ["null", "null", -32600, null],
  ["no jsonrpc", call({ jsonrpc: undefined }), -32600, 1],
  ["another jsonrpc", call({ jsonrpc: "1.0" }), -32600, 1],
  ["no method", call({ method: undefined }), -32600, 1],
  ["a method that is no text", call({ method: 7 }), -32600, 1],
  ["a method that does not exist", call({ method: "Nothing" }), -32601, 1],
  ["a method of every object", call({ method: "constructor" }), -32601, 1],
  ["a notification", call({ id: undefined }), -32600, null],
  ["id null", call({ id: null }), -32600, null],
  ["id with a fraction", call({ id: 1.5 }), -32600, null],
  ["id true", call({ id: true }), -32600, null],
  ["id an object", call({ id: {} }), -32600, null],
  ["id an object, before params", call({ id: { bad: "type" }, params: {} }), -32600, null],
  ["id a list, before a method that does not exist", call({ id: [1], method: "Nothing" }), -32600, null],
  ["params a list", call({ params: [] }), -32602, 1],
  ["params a text", call({ params: "x" }), -32602, 1],
  ["no params", call({ params: undefined }), -32602, 1],
  ["no message", call({ method: "SendMessage", params: {} }), -32602, 1],
  ["message a text", send("hi"), -32602, 1],
  ["no parts", parts(), -32602, 1],
  ["parts no list", send(message1("", { parts: {} })), -32602, 1],
  ["10,000 parts", parts(...Array.from({ length: 10_000 }, () => ({ text: "x" }))), -32602, 1],
  ["an empty part", parts({}), -32602, 1],
  ["a part that is two", parts({ text: "x", url: "https://x.example" }), -32602, 1],
  ["a part of an unknown kind", parts({ kind: "dance", text: "x" }), -32602, 1],
  ["text that is a number", parts({ text: 1 }), -32602, 1],
  ["bytes that are not base64", parts({ raw: "%%%" }), -32602, 1],
  ["a file with nothing", parts({ kind: "file", file: {} }), -32602, 1],
  ["a url that is none", parts({ url: "not a url" }), -32602, 1],
  ["no messageId", send({ role: "ROLE_USER", parts: [{ text: "x" }] }), -32602, 1],
  ["an agent's role", send(message1("x", { role: "ROLE_AGENT" })), -32602, 1],
  ["metadata a list", send(message1("x", { metadata: [] })), -32602, 1],
  ["a negative historyLength", send(message1("x"), { configuration: { historyLength: -1 } }), -32602, 1],
  ["a contextId without end", send(message1("x", { contextId: "x".repeat(2_000) })), -32602, 1],
  ["a taskId that is no task's", send(message1("x", { taskId: "nope" })), -32001, 1],
  ["an id of a task with odd letters", call({ params: { id: "a'; DROP TABLE tasks;--" } }), -32001, 1],
  ["deep JSON", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":${nestLists(200)}}}`, -32600, null],
];

describe("a fault", () => {
  it.each(TABLE)("%s is refused with its code", async (_name, body, code, id) => {
    const response = await sendRaw(caller, body, { headers: { "content-type": "application/json" } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("application/json");
    const reply = await response.json<Reply>();
    expect(reply).toMatchObject({ jsonrpc: "2.0", id, error: { code, message: expect.stringMatching(/.+/) } });
    expect(reply).not.toHaveProperty("result");
  });

  it("deeper than any parser goes is refused too", async () => {
    const response = await sendRaw(caller, nestLists(200_000));
    expect((await response.json<Reply>()).error?.code).toBeLessThan(-32599);
  });

  it("has details in 1.0, and names the fault's place and never its value", async () => {
    const secret = "s3cr3t-value";
    const reply = await rpc(caller, "SendMessage", { message: message1("x", { role: secret, metadata: secret }) });
    checkFailure(reply);
    expect(JSON.stringify(reply)).not.toContain(secret);
    const fields = reply.error?.data[0].fieldViolations.map(({ field }: Json) => field);
    expect(fields).toContain("message.role");
    const missing = await rpc(caller, "GetTask", { id: "x" });
    expect(missing.error?.data).toEqual([
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
    ]);
    expect((await rpc(caller, "tasks/get", { id: "x" })).error).toEqual({ code: -32001, message: "Task not found." });
  });
});

describe("an envelope", () => {
  it.each([["a text"], [""], [7], [0], [-1], ["\n"]])("has its id %j echoed", async (id) => {
    const reply = await (await sendRaw(caller, { ...send(message1("hi")), id })).json<Reply>();
    expect(reply.id).toBe(id);
    expect(reply.result.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("must be sent as JSON", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      const response = await sendRaw(caller, JSON.stringify(send(message1("hi"))), {
        headers: { "content-type": type },
      });
      expect((await response.json<Reply>()).error?.code).toBe(-32005);
    }
    const charset = { "content-type": "application/json; charset=utf-8" };
    const fine = await sendRaw(caller, JSON.stringify(send(message1("hi"))), { headers: charset });
    expect((await fine.json<Reply>()).result).toBeDefined();
  });

  it("may end its address with a slash, and name the assistant by its id", async () => {
    const found = await caller.fetch("/assistants/search", { body: { graph_id: "actor" } });
    const [{ assistant_id }] = await found.json<[{ assistant_id: string }]>();
    for (const path of ["/a2a/actor/", `/a2a/${assistant_id}`, `/a2a/${assistant_id}/`]) {
      const reply = await (await sendRaw(caller, send(message1("hi")), { path })).json<Reply>();
      expect(reply.result).toBeDefined();
    }
  });

  it("to an assistant that does not exist is answered 404", async () => {
    const response = await sendRaw(caller, send(message1("hi")), { agent: crypto.randomUUID() });
    expect(response.status).toBe(404);
    expect((await response.json<Reply>()).error?.message).toContain("assistant");
  });

  it("takes the known versions, for methods of both generations", async () => {
    const code = async (version: string, method = "SendMessage") => {
      const message = method === "SendMessage" ? message1("hi") : message03("hi");
      return (await rpc(caller, method, { message }, { headers: { "a2a-version": version } })).error?.code;
    };
    for (const version of ["", "0.3", "1.0", "1.0.1", "0.3.0", " 1.0 "]) {
      expect(await code(version)).toBeUndefined();
      expect(await code(version, "message/send")).toBeUndefined();
    }
    for (const version of ["1.1", "2.0", "99.0", "1.0, 0.3", "x", "1"]) expect(await code(version)).toBe(-32009);
  });

  it("may say null for what it leaves out", async () => {
    const text = { kind: "text", text: "hi", data: null, file: null, metadata: null };
    const message = message03("", { parts: [text], contextId: null, taskId: null, metadata: null });
    const reply = await rpc(caller, "message/send", { message, configuration: null, metadata: null });
    expect(reply.result.history[0].parts).toEqual([{ kind: "text", text: "hi" }]);
    const nothing = await rpc(caller, "SendMessage", { message: message1("", { parts: [{ data: null }] }) });
    expect(nothing.result.task.history[0].parts).toEqual([{ data: null }]);
  });

  it("says what its metadata must be", async () => {
    const readErrorMessage = async (metadata: unknown) =>
      (await (await sendRaw(caller, { ...send(message1("hi")), metadata })).json<Reply>()).error?.message;
    expect(await readErrorMessage("x")).toBe("metadata must be an object.");
    expect(await readErrorMessage({ thread_id: 5 })).toBe(
      "metadata.thread_id must be a string of at most 1000 characters.",
    );
    expect(await readErrorMessage({ thread_id: "x".repeat(2_000) })).toMatch(/at most 1000/);
  });

  it("may bring an empty text, or an empty file", async () => {
    const empty = [{ text: "" }, { raw: "", filename: "", mediaType: "image/png" }];
    const reply = await rpc(caller, "SendMessage", { message: message1("", { parts: empty }) });
    expect(reply.result.task.history[0].parts).toEqual([{ text: "" }, { raw: "", mediaType: "image/png" }]);
    const old = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "" }] };
    const [said] = (await rpc(caller, "message/send", { message: old })).result.history;
    expect(said.parts).toEqual([{ kind: "text", text: "" }]);
  });

  it("may have its members in snake case", async () => {
    const { role, parts } = message1("hi");
    const message = { message_id: "m", role, parts, context_id: "snake" };
    const reply = await rpc(caller, "SendMessage", { message, configuration: { history_length: 0 } });
    expect(reply.result.task).toMatchObject({ contextId: "snake" });
    expect(reply.result.task).not.toHaveProperty("history");
  });

  it("may bring odd names in its metadata", async () => {
    const body = JSON.stringify(send(message1("mirror"))).replace(
      '"role"',
      '"metadata":{"__proto__":{"polluted":true},"constructor":1,"thread_id":null},"role"',
    );
    const reply = await (
      await sendRaw(caller, body, { headers: { "content-type": "application/json" } })
    ).json<Reply>();
    expect(reply.result.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(({} as Json).polluted).toBeUndefined();
  });

  it("larger than the limit is refused", async () => {
    const response = await sendRaw(caller, send(message1("x".repeat(9 * 1024 * 1024))));
    expect(response.status).toBe(413);
    expect((await response.json<Reply>()).error?.code).toBe(-32602);
  });
});

describe("a fault in the words of 0.3", () => {
  const old = (more: Json) => ({ jsonrpc: "2.0", id: 1, method: "message/send", params: {}, ...more });
  const readErrorCode = async (body: Json) => (await (await sendRaw(caller, body)).json<Reply>()).error?.code;

  it("is the request's own, also where the id is missing or null", async () => {
    for (const id of [undefined, null]) {
      expect(await readErrorCode(old({ id, method: "no/such" }))).toBe(-32601);
      expect(await readErrorCode(old({ id, method: 7 }))).toBe(-32600);
      expect(await readErrorCode(old({ id, params: { message: "hi" } }))).toBe(-32602);
      expect(await readErrorCode(old({ id, params: { message: message03("hi") } }))).toBe(-32600);
    }
  });

  it("is the id's where that is of another type", async () => {
    for (const id of [{ bad: "type" }, [1], true, 1.5]) expect(await readErrorCode(old({ id }))).toBe(-32600);
  });

  it("is one event of a streaming method, unless the caller takes JSON only", async () => {
    for (const method of ["message/stream", "tasks/resubscribe"]) {
      const response = await sendRaw(caller, old({ method, params: { message: {} } }));
      expect(response.headers.get("content-type")).toContain("text/event-stream");
      const [event, ...more] = (await response.text()).split("\n\n").filter((one) => one && !one.startsWith(":"));
      expect(more).toEqual([]);
      expect(JSON.parse(String(event?.slice("data: ".length)))).toMatchObject({ id: 1, error: { code: -32602 } });
      const json = await sendRaw(caller, old({ method }), { headers: { accept: "application/json" } });
      expect(json.headers.get("content-type")).toContain("application/json");
    }
    const now = await sendRaw(caller, old({ method: "SendStreamingMessage" }));
    expect(now.headers.get("content-type")).toContain("application/json");
  });

  it("is a part without a kind", async () => {
    const parts = [{ text: "hi" }];
    expect(await readErrorCode(old({ params: { message: { ...message03("x"), parts } } }))).toBe(-32602);
    const now = call({ method: "SendMessage", params: { message: message1("x", { parts }) } });
    expect((await (await sendRaw(caller, now)).json<Reply>()).result).toBeDefined();
  });

  it("names what a task does not have", async () => {
    const sent = await rpc(caller, "message/send", { message: message03("hi") });
    const missing = await rpc(caller, "tasks/pushNotificationConfig/get", { id: sent.result.id });
    expect(missing.error).toMatchObject({ code: -32001, message: expect.stringContaining("push notification") });
  });
});
