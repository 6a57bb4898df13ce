/** Runs that wait for an answer: elicitation for clients that have it, and else a result that names the thread. */
import "../../support/graphs.ts";
import "../../support/mcp-graphs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { encodeState } from "../../../src/protocols/mcp/interrupts.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { type Asked, connectAble, connectFirst, connectSecond } from "./connect.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const toInput = (text: string) => ({ messages: [{ role: "user", content: text }] });
type Called = {
  content: { text: string }[];
  isError?: boolean;
  _meta?: { thread_id: string; interrupts: { id: string; value: unknown }[] };
};
const listThreads = async (by: Caller) =>
  (await by.fetch("/threads/search", { body: {} })).json<
    { thread_id: string; status: string; interrupts: Record<string, object[]> }[]
  >();

describe("a client with elicitation", () => {
  it("asks a person, and the run continues with the answer", async () => {
    const by = await newCaller();
    const asked: Asked[] = [];
    const client = await connectSecond(by.key, (params) => {
      asked.push(params);
      return { action: "accept", content: { answer: "the blue one" } };
    });
    const { content, isError } = await client.callTool({ name: "actor", arguments: toInput("ask") });
    expect([content, isError]).toEqual([[{ type: "text", text: 'You chose "the blue one".' }], false]);
    expect(asked).toMatchObject([{ message: "Which one?", requestedSchema: { required: ["answer"] } }]);
    expect(await listThreads(by)).toMatchObject([{ status: "idle" }]);
    await client.close();
  });

  it("answers all questions of a run", async () => {
    const client = await connectSecond(caller.key, ({ message }) => ({
      action: "accept",
      content: { answer: message.toUpperCase() },
    }));
    const { structuredContent, content } = await client.callTool({ name: "asker", arguments: {} });
    expect([structuredContent, content]).toEqual([{}, [{ type: "text", text: 'right "RIGHT?"' }]]);
    await client.close();
  });

  it("decides on each action of a human-in-the-loop request", async () => {
    const asked: Asked[] = [];
    const client = await connectSecond(caller.key, (params) => {
      asked.push(params);
      return { action: "accept", content: { decision_1: "reject", message_1: "Not today." } };
    });
    const { content } = await client.callTool({
      name: "approval",
      arguments: toInput("Send an email to ada@example.com about lunch"),
    });
    expect(asked[0]?.requestedSchema.properties["decision_1"]).toMatchObject({
      title: expect.stringContaining("send_email"),
      enum: ["approve", "reject", "respond"],
    });
    expect((content as { text: string }[])[0]?.text).not.toBe("");
    await client.close();
  });

  it("gets the thread when the person declines, and can answer later", async () => {
    const client = await connectSecond(caller.key, () => ({ action: "decline" }));
    const { content, isError, _meta } = (await client.callTool({
      name: "actor",
      arguments: toInput("ask"),
    })) as unknown as Called;
    const thread_id = _meta?.thread_id;
    expect([isError, content[0]?.text]).toEqual([false, expect.stringContaining(`thread ${thread_id}`)]);
    const later = await client.callTool({ name: "answer_interrupt", arguments: { thread_id, answer: "none" } });
    expect(later.content).toEqual([{ type: "text", text: 'You chose "none".' }]);
    await client.close();
  });
});

/** The forms that a tool shows. */
const ROUNDS = { elicitation: 1, sampling: 0, list_roots: 0, multiple_inputs: 1, multi_round: 2 };

describe("an interrupt that is a request of the protocol", () => {
  it.each<[what: string, tool: keyof typeof ROUNDS, expected: string]>([
    ["a form of its own", "elicitation", '{"name":"Ada"}'],
    ["a completion by the client's model", "sampling", '"text":"Paris"'],
    ["the client's roots", "list_roots", '"uri":"file:///home"'],
    ["all of them at once", "multiple_inputs", '"uri":"file:///home"'],
    ["one after the other", "multi_round", "Ada likes blue."],
  ])("is %s", async (_, tool, expected) => {
    const { client, forms } = await connectAble(caller.key, { elicitation: { form: {} }, sampling: {}, roots: {} });
    const { content } = await client.callTool({ name: `test_input_required_result_${tool}`, arguments: {} });
    const texts = (content as { text: string }[]).map(({ text }) => text).join("\n");
    expect(texts).toContain(expected);
    expect(forms).toEqual(["What is your name?", "Which color?"].slice(0, ROUNDS[tool]));
    await client.close();
  });

  it("is refused with the capability that the client lacks", async () => {
    const { client } = await connectAble(caller.key, { elicitation: { form: {} } });
    const called = client.callTool({ name: "test_missing_capability", arguments: {} });
    await expect(called).rejects.toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
    await client.close();
  });

  it("is sent without those that the client cannot show, which wait", async () => {
    const by = await newCaller();
    const { client } = await connectAble(by.key, { sampling: {} });
    const { content } = await client.callTool({ name: "test_input_required_result_capabilities", arguments: {} });
    expect((content as { text: string }[])[0]?.text).toContain("What is your name?");
    expect(await listThreads(by)).toMatchObject([{ status: "interrupted" }]);
    await client.close();
  });

  it("is answered also where one that the client cannot show has the same name", async () => {
    const by = await newCaller();
    const { client } = await connectAble(by.key, { roots: {} });
    await client.callTool({ name: "same_names", arguments: {} });
    const [thread] = await listThreads(by);
    const waiting = Object.values(thread?.interrupts ?? {}).flat();
    expect(waiting).toMatchObject([{ value: { method: "elicitation/create" } }]);
    await client.close();
  });
});

describe.each([
  ["first", connectFirst],
  ["second", (key: string) => connectSecond(key)],
] as const)("a client without elicitation, of the %s generation", (_, connect) => {
  it("gets a result that names the thread, and answers with a tool", async () => {
    const client = await connect(caller.key);
    const { content, isError, _meta } = (await client.callTool({
      name: "actor",
      arguments: toInput("askdata"),
    })) as unknown as Called;
    expect(isError).toBe(false);
    expect(content[0]?.text).toContain('Which one?\n{"question":"Which one?","options":["a","b"]}');
    expect(content[0]?.text).toContain("answer_interrupt");
    const thread_id = _meta?.thread_id;
    const given = { name: "answer_interrupt", arguments: { thread_id, answer: { choice: "b" } } };
    expect((await client.callTool(given)).content).toEqual([{ type: "text", text: 'You chose {"choice":"b"}.' }]);
    await expect(client.callTool(given)).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });

  it("answers several questions, each by its id", async () => {
    const client = await connect(caller.key);
    const { _meta } = (await client.callTool({ name: "asker", arguments: {} })) as unknown as Called;
    const { thread_id, interrupts = [] } = _meta ?? {};
    const answer = (more: object) =>
      client.callTool({ name: "answer_interrupt", arguments: { thread_id, answer: "x", ...more } });
    await expect(answer({})).rejects.toMatchObject({ message: expect.stringContaining(interrupts[1]?.id ?? "-") });
    const [left, right] = interrupts;
    const half = (await answer({ interrupt_id: left?.id })) as unknown as Called;
    expect(half._meta?.interrupts).toEqual([right]);
    const whole = await answer({ interrupt_id: right?.id });
    expect(whole.content).toEqual([{ type: "text", text: expect.stringContaining('"x"') }]);
    await client.close();
  });
});

describe("a thread of another workspace", () => {
  it("takes no answer", async () => {
    const owner = await connectFirst(caller.key);
    const { _meta } = (await owner.callTool({ name: "actor", arguments: toInput("ask") })) as unknown as Called;
    const thread_id = _meta?.thread_id ?? "";
    const other = await newCaller();
    const stranger = await connectFirst(other.key);
    const given = { name: "answer_interrupt", arguments: { thread_id, answer: "mine" } };
    await expect(stranger.callTool(given)).rejects.toMatchObject({ code: -32602 });
    // The state of an elicitation is the thread: it is sent by the client, and grants nothing.
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
    };
    const acceptAnswer = (answer: string) => ({ action: "accept", content: { answer } });
    const answers = { [_meta?.interrupts[0]?.id ?? ""]: acceptAnswer("mine"), unknown: acceptAnswer("x") };
    const asked = (_meta?.interrupts ?? []).map(({ id, value }) => ({ id, value }));
    const requestState = encodeState(thread_id, asked);
    const params = { name: "actor", arguments: {}, requestState, inputResponses: answers, _meta: meta };
    const headers = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "actor",
    };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    expect(await (await other.fetch("/mcp", { body, headers })).json()).toMatchObject({ error: { code: -32602 } });
    const state = { ...body, params: { ...params, name: "echo" } };
    const elsewhere = await caller.fetch("/mcp", { body: state, headers: { ...headers, "mcp-name": "echo" } });
    expect(await elsewhere.json()).toMatchObject({ error: { code: -32602 } });
    // Not that of the questions that wait.
    for (const tampered of [thread_id, `${requestState}x`, encodeState(thread_id, [])]) {
      const other = { ...body, params: { ...params, requestState: tampered } };
      const refused = await caller.fetch("/mcp", { body: other, headers });
      expect(await refused.json()).toMatchObject({ error: { code: -32602 } });
    }
    // It still waits for its owner. A response to what was not asked is ignored.
    const callOwn = async () => (await caller.fetch("/mcp", { body, headers })).json();
    expect(await callOwn()).toMatchObject({ result: { content: [{ type: "text", text: 'You chose "mine".' }] } });
    expect(await callOwn()).toMatchObject({ error: { code: -32602 } });
  });
});

it("a call without questions leaves no thread", async () => {
  const by = await newCaller();
  const client = await connectFirst(by.key);
  await client.callTool({ name: "echo", arguments: toInput("hi") });
  expect(await listThreads(by)).toEqual([]);
  await client.close();
});
