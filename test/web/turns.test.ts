import { describe, expect, it } from "vitest";
import type { RawMessage } from "../../packages/web/api/types.ts";
import { type LiveCall, tellingArgument, buildTurns } from "../../packages/web/chat/turn/turns.ts";

const human = (id: string, content: string): RawMessage => ({ type: "human", id, content });
const ai = (id: string, content: unknown, calls: string[] = [], name = "search"): RawMessage => ({
  type: "ai",
  id,
  content,
  tool_calls: calls.map((call) => ({ id: call, name, args: { query: call } })),
});
const result = (call: string, content: string, status = "success"): RawMessage => ({
  type: "tool",
  id: `r-${call}`,
  tool_call_id: call,
  content,
  status,
});
const kinds = (messages: RawMessage[], running = false, live = new Map<string, LiveCall>()) =>
  buildTurns(messages, live, running).map((turn) => turn.parts.map((part) => part.kind));

describe("turns", () => {
  it("begin with a question and hold all that followed", () => {
    const turns = buildTurns([human("1", "a"), ai("2", "b"), human("3", "c"), ai("4", "d")], new Map(), false);
    expect(turns.map((turn) => [turn.asked?.text, turn.messageIds])).toEqual([
      ["a", ["1", "2"]],
      ["c", ["3", "4"]],
    ]);
  });

  it("begin without a question when the agent sends the first message", () => {
    expect(buildTurns([ai("1", "hello")], new Map(), false)[0]).toMatchObject({ id: "1", parts: [{ text: "hello" }] });
  });

  it("put calls in a row together, also those of several messages, and fold results into them", () => {
    const messages = [human("1", "q"), ai("2", "", ["a", "b"]), result("a", "A"), result("b", "B"), ai("3", "", ["c"])];
    const [turn] = buildTurns(messages, new Map(), false);
    expect(turn?.parts).toMatchObject([
      { kind: "tools", calls: [{ output: "A", state: "done" }, { output: "B" }, { state: "waiting" }] },
    ]);
  });

  it("let a failed call stand alone, and make a task a subagent", () => {
    const messages = [
      human("1", "q"),
      ai("2", "look", ["a", "b"]),
      result("a", "A"),
      result("b", "Error", "error"),
      ai("3", "", ["t", "u"], "task"),
    ];
    expect(kinds(messages)).toEqual([["text", "tools", "failed", "subagents"]]);
  });

  it("show nothing of the stream about calls that the run in progress did not make", () => {
    const live = new Map<string, LiveCall>([["a", { status: "finished", output: "of another branch" }]]);
    const waiting = { parts: [{ kind: "tools", calls: [{ state: "waiting" }] }] };
    const asked = [human("1", "q"), ai("2", "", ["a"])];
    expect(buildTurns(asked, live, false)).toMatchObject([waiting]);
    expect(buildTurns([...asked, human("3", "q")], live, true)).toMatchObject([waiting, { parts: [] }]);
  });

  it("show the stream's data of a call before its message is there", () => {
    const live = new Map<string, LiveCall>([["a", { status: "error", output: null, error: "no answer" }]]);
    const [turn] = buildTurns([ai("1", "", ["a", "b"])], live, true);
    expect(turn?.parts).toMatchObject([
      { kind: "failed", call: { output: "no answer" } },
      { kind: "tools", calls: [{ state: "running" }] },
    ]);
  });

  it("read text and reasoning out of blocks", () => {
    const blocks = [
      { type: "reasoning", reasoning: "think" },
      { type: "text", text: "say" },
    ];
    expect(buildTurns([ai("1", blocks)], new Map(), false)[0]?.parts).toMatchObject([
      { text: "say", reasoning: "think" },
    ]);
  });
});

describe("the telling argument", () => {
  it("is the one with a telling name, else the first text, on one line", () => {
    expect(tellingArgument({ mode: "fast", query: "weir" })).toBe("weir");
    expect(tellingArgument({ count: 3, note: "one\ntwo" })).toBe("one");
    expect(tellingArgument({ count: 3 })).toBe("");
  });
});
