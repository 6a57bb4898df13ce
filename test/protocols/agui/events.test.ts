import { describe, expect, it } from "vitest";
import { EventReducer, diff } from "../../../src/protocols/agui/events.ts";
import { graphMessage, toWireMessages } from "../../../src/protocols/agui/messages.ts";
import { RunAgentInput } from "../../../src/protocols/agui/schema.ts";
import { type AguiBody, planRun, sentBody } from "../../../src/protocols/agui/begin.ts";
import { readResponse } from "../../../src/protocols/agui/start.ts";
import { parse } from "../../../src/http/validate.ts";
import type { LogEvent } from "../../../src/threads/log/events.ts";

type Json = Record<string, unknown>;

const NODE = ["agent:1"];
let seq = 0;
const event = (method: LogEvent["method"], data: unknown, ns: string[] = []): LogEvent => ({
  seq: ++seq,
  ts: 1,
  run: "run",
  method,
  ns,
  ...(ns.length > 0 && { node: "agent" }),
  data,
});
const message = (data: Json) => event("messages", { run_id: "call", ...data }, NODE);
const block = (type: string, index: number, more: Json) => message({ event: `content-block-${type}`, index, ...more });
const toolDelta = (fields: Json) =>
  block("delta", 1, { delta: { type: "block-delta", fields: { type: "tool_call_chunk", ...fields } } });

/** The events of a run, without their times. */
function apply(...events: LogEvent[]): Json[] {
  const fold = new EventReducer({ threadId: "t", runId: "r" });
  return events.flatMap((one) => fold.apply(one)).map(({ timestamp: _timestamp, ...rest }) => rest);
}
const END = event("lifecycle", { event: "completed" });
const FINISHED = { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "success" } };

describe("a message", () => {
  it("is reasoning, text and tool calls, each opened and closed once", () => {
    const events = apply(
      message({ event: "message-start", id: "m" }),
      block("delta", 0, { delta: { type: "reasoning-delta", reasoning: "hm" } }),
      block("delta", 0, { delta: { type: "text-delta", text: "a" } }),
      block("delta", 0, { delta: { type: "text-delta", text: "" } }),
      block("delta", 0, { delta: { type: "text-delta", text: "b" } }),
      block("start", 1, { content: { type: "tool_call_chunk", id: "c", args: "" } }),
      toolDelta({ id: "c", name: "add", args: '{"x"' }),
      toolDelta({ id: "c", name: "add", args: '{"x":1}' }),
      block("finish", 1, { content: { type: "tool_call", id: "c", name: "add", args: { x: 1 } } }),
      message({ event: "message-finish" }),
      END,
    );
    expect(events).toEqual([
      { type: "REASONING_START", messageId: "m-reasoning" },
      { type: "REASONING_MESSAGE_START", messageId: "m-reasoning", role: "reasoning" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: "m-reasoning", delta: "hm" },
      { type: "REASONING_MESSAGE_END", messageId: "m-reasoning" },
      { type: "REASONING_END", messageId: "m-reasoning" },
      { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "a" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "b" },
      { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "add", parentMessageId: "m" },
      { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"x"' },
      { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: ":1}" },
      { type: "TOOL_CALL_END", toolCallId: "c" },
      { type: "TEXT_MESSAGE_END", messageId: "m" },
      FINISHED,
    ]);
  });

  it("that a crash or the run's end cuts off is closed", () => {
    const begun = [
      message({ event: "message-start", id: "m" }),
      block("delta", 0, { delta: { type: "text-delta", text: "a" } }),
    ];
    const closed = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"];
    const types = (events: Json[]) => events.map(({ type }) => type);
    expect(types(apply(...begun, event("metadata", { attempt: 2 })))).toEqual(closed);
    expect(types(apply(...begun, event("metadata", { attempt: 1 })))).toEqual(closed.slice(0, 2));
    expect(types(apply(...begun, END))).toEqual([...closed, "RUN_FINISHED"]);
  });

  it("of a node within a subgraph, or of a person, is not streamed", () => {
    const nested = { ...message({ event: "message-start", id: "m" }), ns: ["a:1", "b:2"] };
    expect(apply(nested, message({ event: "message-start", id: "h", role: "human" }))).toEqual([]);
  });
});

describe("a run", () => {
  it("shows its state as a snapshot and patches, and its messages apart", () => {
    const tool = { type: "tool", id: "t1", tool_call_id: "c", content: "42" };
    const old = { type: "tool", id: "t0", tool_call_id: "b", content: "old" };
    const events = apply(
      event("values", { messages: [old], list: [1], gone: 1 }),
      event("values", { messages: [old, tool], list: [1, 2], "a/b": { c: 1 } }),
      event("values", { __interrupt__: [] }),
      END,
    );
    expect(events).toEqual([
      { type: "STATE_SNAPSHOT", snapshot: { list: [1], gone: 1 } },
      { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c", content: "42", role: "tool" },
      {
        type: "STATE_DELTA",
        delta: [
          { op: "remove", path: "/gone" },
          { op: "add", path: "/list/-", value: 2 },
          { op: "add", path: "/a~1b", value: { c: 1 } },
        ],
      },
      { type: "MESSAGES_SNAPSHOT", messages: toWireMessages([old, tool]) },
      FINISHED,
    ]);
  });

  it("shows a step while a task of the node is at work", () => {
    const at = (task: string, what: string) => event("lifecycle", { event: what }, [`n:${task}`]);
    const events = apply(
      at("1", "started"),
      at("2", "started"),
      at("1", "completed"),
      at("2", "failed"),
      at("3", "started"),
      END,
    );
    const steps = events.map(({ type, stepName }) => `${String(type)} ${String(stepName)}`);
    expect(steps).toEqual([
      "STEP_STARTED n",
      "STEP_FINISHED n",
      "STEP_STARTED n",
      "STEP_FINISHED n",
      "RUN_FINISHED undefined",
    ]);
  });

  it.each([
    [
      { event: "failed", error: "Error: no" },
      { type: "RUN_ERROR", message: "Error: no", code: "run_failed" },
    ],
    [{ event: "interrupted", reason: "cancel" }, { outcome: { type: "cancelled" } }],
    [{ event: "interrupted", reason: "breakpoint" }, { outcome: { interrupts: [{ id: "breakpoint" }] } }],
  ])("ends as %j says", (data, expected) => {
    expect(apply(event("lifecycle", data)).at(-1)).toMatchObject(expected);
  });

  it("ends with its questions", () => {
    const ask = (interrupt_id: string, payload: unknown) => event("input.requested", { interrupt_id, payload });
    const [end] = apply(
      ask("1", "Which colour?"),
      ask("2", { reason: "tool", message: "May I?", tool_call_id: "c", response_schema: { type: "object" } }),
      ask("3", { action_requests: [{ description: "Send it?" }] }),
      event("lifecycle", { event: "interrupted", reason: "input" }),
    );
    expect(end?.outcome).toMatchObject({
      type: "interrupt",
      interrupts: [
        {
          id: "1",
          reason: "langgraph:interrupt",
          message: "Which colour?",
          metadata: { langgraph: { raw: "Which colour?" } },
        },
        { id: "2", reason: "tool", message: "May I?", toolCallId: "c", responseSchema: { type: "object" } },
        { id: "3", message: "Send it?" },
      ],
    });
  });

  it("that ended without an end is an error, once", () => {
    const fold = new EventReducer({ threadId: "t", runId: "r" });
    expect(fold.lost()).toMatchObject([{ type: "RUN_ERROR", code: "run_lost" }]);
    expect(fold.lost()).toEqual([]);
  });

  it("shows custom events by their names", () => {
    expect(
      apply(event("custom", { name: "a", payload: 1 }), event("custom", { name: "b", x: 2 }), event("custom", 3)),
    ).toEqual([
      { type: "CUSTOM", name: "a", value: 1 },
      { type: "CUSTOM", name: "b", value: { x: 2 } },
      { type: "CUSTOM", name: "custom", value: 3 },
    ]);
  });
});

describe("an event that a graph dispatches", () => {
  const emit = (name: string, data: unknown) => event("events", { event: "on_custom_event", name, data });

  it("is a custom event of its name, and no other event of LangChain is", () => {
    const events = apply(emit("a", { x: 1 }), emit("b", null), event("events", { event: "on_chain_end" }));
    expect(events).toEqual([
      { type: "CUSTOM", name: "a", value: { x: 1 } },
      { type: "CUSTOM", name: "b", value: null },
    ]);
  });

  it.each(["", "copilotkit_"])("may be a message, once, or a tool call, by the name %j", (prefix) => {
    const own = emit(`${prefix}manually_emit_message`, { message_id: "m", message: "hi" });
    const call = emit(`${prefix}manually_emit_tool_call`, { id: "c", name: "f", args: { x: 1 } });
    const streamed = [
      message({ event: "message-start", id: "m" }),
      block("delta", 0, { delta: { type: "text-delta", text: "hi" } }),
    ];
    expect(apply(own, ...streamed, call)).toEqual([
      { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "hi" },
      { type: "TEXT_MESSAGE_END", messageId: "m" },
      { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "f", parentMessageId: "c" },
      { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"x":1}' },
      { type: "TOOL_CALL_END", toolCallId: "c" },
    ]);
  });

  it("may be a state, which the next change is relative to", () => {
    const events = apply(
      event("values", { a: 1, messages: [] }),
      emit("manually_emit_state", { a: 2, messages: [1] }),
      event("values", { a: 3, messages: [] }),
    );
    expect(events).toEqual([
      { type: "STATE_SNAPSHOT", snapshot: { a: 1 } },
      { type: "STATE_SNAPSHOT", snapshot: { a: 2 } },
      { type: "CUSTOM", name: "manually_emit_state", value: { a: 2, messages: [1] } },
      { type: "STATE_DELTA", delta: [{ op: "replace", path: "/a", value: 3 }] },
    ]);
  });

  it.each([
    ["manually_emit_message", { message_id: 1, message: "hi" }],
    ["manually_emit_tool_call", { id: "c" }],
    ["manually_emit_state", "text"],
  ])("is a custom event where %s has other members", (name, value) => {
    expect(apply(emit(name, value))).toEqual([{ type: "CUSTOM", name, value }]);
  });
});

describe("a client that opens a thread", () => {
  const reducer = () => new EventReducer({ threadId: "t", runId: "r" });
  const started = { type: "RUN_STARTED", threadId: "t", runId: "r", protocolVersion: "1.0" };

  it("gets its conversation and state, and what waits for an answer", () => {
    const values = { messages: [{ type: "human", id: "1", content: "hi" }], list: [1] };
    const rest = (asked: string[], stopped = asked.length > 0) =>
      reducer().resting({ values, asked: asked.map((id) => ({ interrupt_id: id, payload: "Which?" })), stopped });
    expect(rest([])).toEqual([
      started,
      { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "user", content: "hi" }] },
      { type: "STATE_SNAPSHOT", snapshot: { list: [1] } },
      FINISHED,
    ]);
    expect(rest(["a"]).at(-1)?.outcome).toMatchObject({
      type: "interrupt",
      interrupts: [{ id: "a", message: "Which?" }],
    });
    expect(rest([], true).at(-1)?.outcome).toMatchObject({ interrupts: [{ id: "breakpoint" }] });
    expect(reducer().resting()).toEqual([started, FINISHED]);
  });

  it("gets what a run began with, and then its events", () => {
    const joined = reducer();
    const events = [...joined.started([]), ...joined.apply(event("values", { messages: [], list: [1] }))];
    expect(events.map(({ type }) => type)).toEqual(["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]);
  });
});

it("a client that lacks messages gets what is before its own, and then all, with the first state", () => {
  const messages = ["1", "2", "3"].map((id) => ({ type: "human", id, content: id }));
  const snapshots = (sent: string[]) => {
    const events = new EventReducer({ threadId: "t", runId: "r" });
    events.started(sent);
    const shown = events.apply(event("values", { messages })).filter(({ type }) => type === "MESSAGES_SNAPSHOT");
    return shown.map((one) => (one.messages as Json[]).map(({ id }) => id));
  };
  expect(snapshots(["3"])).toEqual([
    ["1", "2"],
    ["1", "2", "3"],
  ]);
  expect(snapshots(["1", "3"])).toEqual([
    ["1", "2"],
    ["1", "2", "3"],
  ]);
  expect(snapshots(["1", "2"])).toEqual([["1", "2", "3"]]);
  expect(snapshots(["1", "2", "3", "half"])).toEqual([["1", "2", "3"]]);
  expect(snapshots(["1", "2", "3"])).toEqual([]);
});

describe("what a request asks of a thread", () => {
  const input = (more: Json) => parse(RunAgentInput, { threadId: "t", runId: "r", messages: [], ...more }, "body");
  const human = { id: "1", role: "user", content: "hi" };
  const channels = new Set(["messages", "list", "tools"]);

  /** The run's input and the checkpoint from which it begins, on a thread whose states these were, newest first. */
  const plan = async (
    more: Json,
    values: Json = {},
    keys: Set<string> | undefined = channels,
    left: "done" | "waits" = "done",
  ) => {
    const body = sentBody(input(more)) as unknown as AguiBody;
    async function* past() {
      yield { checkpointId: "now", values };
      yield { checkpointId: "first", values: {} };
    }
    return planRun(body, { values, left, past }, (name) => keys === undefined || keys.has(name));
  };

  it("is what the thread does not have yet", async () => {
    const before = { messages: [{ id: "1", type: "human", content: "hi" }], list: [1], other: 1 };
    const asked = { messages: [human, { ...human, id: "2" }], state: { list: [1], other: 2, messages: [] } };
    expect(await plan(asked, before)).toEqual({
      // Graphs spread it, and fail when it is not there.
      input: { messages: [{ type: "human", id: "2", content: "hi" }], tools: [] },
    });
    const tool = (name: string, description: string) => ({
      type: "function",
      name,
      function: { name, description, parameters: {} },
    });
    const state = { list: [1, 2], tools: [tool("t", "old"), tool("u", "of the state")] };
    const tools = [{ name: "t", description: "new", parameters: {} }];
    const changed = { messages: [], state, tools };
    const both = [tool("t", "new"), tool("u", "of the state")];
    expect(await plan(changed, before)).toEqual({ input: { messages: [], list: [1, 2], tools: both } });
    const kit = await plan({ tools, state: { copilotkit: { a: 1 } } }, before, new Set(["ag-ui", "copilotkit"]));
    const own = [tool("t", "new")];
    expect(kit).toEqual({
      input: { "ag-ui": { tools: own, context: [] }, copilotkit: { a: 1, actions: own } },
    });
    expect(await plan(changed, undefined, new Set(["list"]))).toEqual({ input: { list: [1, 2] } });
    expect(await plan({ messages: [human] }, {}, undefined)).toMatchObject({ input: { messages: [{ id: "1" }] } });
  });

  const said = (...given: [string, string][]) => given.map(([role, id]) => ({ role, id, content: "" }));
  const known = {
    tools: [],
    messages: [
      { type: "human", id: "u1", content: "" },
      { type: "ai", id: "a1", content: "" },
      { type: "human", id: "u2", content: "" },
      { type: "ai", id: "a2", content: "" },
    ],
  };
  const idsIn = (run: Awaited<ReturnType<typeof plan>>) =>
    run && [run.checkpoint?.checkpoint_id, ...(run.input as { messages: Json[] }).messages.map(({ id }) => id)];

  it.each<[string, [string, string][], unknown[] | undefined]>([
    [
      "a conversation up to a message: its answer again",
      [
        ["user", "u1"],
        ["assistant", "a1"],
        ["user", "u2"],
      ],
      ["first", "u2"],
    ],
    ["up to the first message", [["user", "u1"]], ["first", "u1"]],
    [
      "with instructions",
      [
        ["system", "new"],
        ["user", "u1"],
        ["activity", "x"],
      ],
      ["first", "new", "u1"],
    ],
    [
      "with a new message",
      [
        ["user", "u1"],
        ["assistant", "a1"],
        ["user", "new"],
      ],
      [undefined, "new"],
    ],
    [
      "with a result of the client's own tool",
      [
        ["user", "u1"],
        ["assistant", "a1"],
        ["tool", "new"],
      ],
      [undefined, "new"],
    ],
    [
      "with the whole answer: nothing",
      [
        ["user", "u1"],
        ["assistant", "a1"],
        ["user", "u2"],
        ["assistant", "a2"],
      ],
      undefined,
    ],
    [
      "with another form of the answer: nothing",
      [
        ["user", "u1"],
        ["assistant", "a1"],
        ["user", "u2"],
        ["assistant", "half"],
      ],
      undefined,
    ],
    [
      "with a greeting of the client's",
      [
        ["assistant", "hello"],
        ["user", "u1"],
        ["user", "new"],
      ],
      [undefined, "hello", "new"],
    ],
    ["with no message", [], [undefined]],
  ])("is, %s", async (_what, messages, expected) => {
    expect(idsIn(await plan({ messages: said(...messages) }, known))).toEqual(expected);
  });

  it("is the message alone where nothing has answered it", async () => {
    const unanswered = { ...known, messages: [known.messages[0], { type: "system", id: "s", content: "" }] };
    expect(idsIn(await plan({ messages: said(["user", "u1"]) }, unanswered))).toEqual(["first", "u1"]);
    expect(idsIn(await plan({ messages: said(["user", "u1"], ["assistant", "half"]) }, unanswered))).toEqual([
      "first",
      "u1",
    ]);
    expect(await plan({ messages: said(["user", "u1"]) }, unanswered, channels, "waits")).toBeUndefined();
    expect(idsIn(await plan({ messages: said(["assistant", "a0"]) }))).toEqual([undefined, "a0"]);
  });

  it("is a branch from before a changed message, with the instructions of the request", async () => {
    const messages = [
      { id: "s", role: "system", content: "Be brief." },
      { id: "u2", role: "user", content: "other" },
    ];
    expect(idsIn(await plan({ messages }, known))).toEqual(["first", "s", "u2"]);
  });

  it("is also a changed state", async () => {
    const whole = said(["user", "u1"], ["assistant", "a1"], ["user", "u2"], ["assistant", "a2"]);
    expect(await plan({ messages: whole, state: { list: [2] } }, { ...known, list: [1] })).toEqual({
      input: { messages: [], list: [2] },
    });
  });

  it("may be a response to interrupts, also as CopilotKit sends it", () => {
    const resume = [
      { interruptId: "a", status: "resolved", payload: 1 },
      { interruptId: "b", status: "cancelled" },
    ];
    expect(readResponse(input({ resume, messages: [human] }))).toEqual({
      command: { resume: { a: 1, b: { __agui_cancelled__: true, interrupt_id: "b" } } },
      answers: ["a", "b"],
    });
    const respond = (resumed: unknown) => readResponse(input({ forwardedProps: { command: { resume: resumed } } }));
    expect(respond("yes")).toEqual({ command: { resume: "yes" } });
    for (const [text, answer] of [
      ['{"decisions":[{"type":"approve"}]}', { decisions: [{ type: "approve" }] }],
      ["true", true],
      ["{no JSON", "{no JSON"],
    ])
      expect(respond(text)).toEqual({ command: { resume: answer } });
    const goOn = input({ resume: [{ interruptId: "breakpoint", status: "resolved" }] });
    expect(readResponse(goOn)).toMatchObject({ input: null });
    expect(readResponse(input({ messages: [human] }))).toEqual({ input: {} });
  });

  it.each([
    ["threadId", { threadId: "" }],
    ["messages", { messages: "hi" }],
    ["messages.0.id", { messages: [{ role: "user" }] }],
    ["resume.0.status", { resume: [{ interruptId: "a", status: "maybe" }] }],
  ])("with a wrong %s is refused", (path, more) => {
    expect(() => input(more)).toThrow(`body.${path}`);
  });
});

describe("messages", () => {
  const image = { type: "image", source: { type: "data", value: "aGk=", mimeType: "image/png" } };
  const MESSAGES = [
    { id: "1", role: "user", content: [{ type: "text", text: "look" }, image] },
    {
      id: "2",
      role: "assistant",
      content: "so",
      toolCalls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"x":1}' } }],
    },
    { id: "3", role: "tool", content: "no", toolCallId: "c", error: "no" },
    { id: "4", role: "system", content: "be kind", name: "boss" },
  ];

  it("are read from a state as they were sent", () => {
    expect(toWireMessages(MESSAGES.map((one) => graphMessage(one)))).toEqual(MESSAGES);
  });

  it("with a source of no known kind are left as they are", () => {
    const odd = { type: "image", source: { type: "constructor", value: "x" } };
    expect(graphMessage({ id: "1", role: "user", content: [odd] })).toMatchObject({ content: [odd] });
  });

  it("of other roles are not for models", () => {
    expect(graphMessage({ id: "1", role: "activity", content: {} })).toBeUndefined();
    expect(graphMessage({ id: "1", role: "constructor" })).toBeUndefined();
    expect(toWireMessages([{ type: "remove", id: "1" }, null, "x"])).toEqual([]);
    expect(toWireMessages("none")).toEqual([]);
  });
});

it("a patch replaces a list that has not only grown, and is empty for equal values", () => {
  expect(diff({ a: [1, 2] }, { a: [2] })).toEqual([{ op: "replace", path: "/a", value: [2] }]);
  expect(diff({ a: { b: 1 } }, { a: { b: 2 } })).toEqual([{ op: "replace", path: "/a/b", value: 2 }]);
  expect(diff({ a: [{ b: 1 }] }, { a: [{ b: 1 }] })).toEqual([]);
});
