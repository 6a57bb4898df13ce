/** The forms of graph values that clients and traces read. */
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { toWireJson, wireWithin } from "../../src/runtime/wire.ts";

const MESSAGES: BaseMessage[] = [
  new HumanMessage({ content: "h", name: "bob", id: "1" }),
  new AIMessage({ content: "a", tool_calls: [{ name: "f", args: { x: { y: 1 } }, id: "c" }] }),
  new AIMessage({ content: [{ type: "text", text: "t" }], response_metadata: { modelName: "m" } }),
  new AIMessage({ content: "own", ownField: 1 } as never),
  new AIMessageChunk({ content: "", tool_call_chunks: [{ name: "f", args: "{", index: 0, id: "c" }] }),
  new ToolMessage({ content: "r", tool_call_id: "c", status: "error" }),
  new RemoveMessage({ id: "1" }),
];

describe("the wire form", () => {
  it.each(MESSAGES)("of a message is its data and its type, flat: %#", (message) => {
    const { type, data } = message.toDict();
    expect(toWireJson([message])).toBe(JSON.stringify([{ ...data, type }]));
  });

  it("of what JSON has no name for is what comes nearest", () => {
    const odd = { map: new Map([["k", new Set([1n])]]), at: new Date(0), error: new Error("no"), none: undefined };
    expect(JSON.parse(toWireJson(odd))).toEqual({
      map: { k: ["1"] },
      at: "1970-01-01T00:00:00.000Z",
      error: { error: "Error", message: "no" },
    });
    expect(toWireJson(undefined)).toBe("null");
  });

  it("keeps a member that is called like an object's prototype", () => {
    const text = '{"__proto__":{"a":1},"b":2}';
    expect(toWireJson(JSON.parse(text))).toBe(text);
  });

  it("of a value that contains itself is refused", () => {
    const self: Record<string, unknown> = {};
    self["self"] = self;
    expect(() => toWireJson({ self })).toThrow(TypeError);
  });
});

describe("a payload of a trace", () => {
  const state = { messages: Array.from({ length: 1_000 }, (_, i) => new HumanMessage(`message ${i}`)) };

  it("is whole when it fits", () => {
    expect(wireWithin(state, 1_000_000, 100)).toBe(toWireJson(state));
  });

  it("is its beginning, and says so, when it does not", () => {
    const text = wireWithin(state, 10_000, 1_000);
    const { messages, cut } = JSON.parse(text) as { messages: { content: string }[]; cut: boolean };
    expect(text.length).toBeLessThan(2_000);
    expect(messages.length).toBeGreaterThan(2);
    const whole = messages.slice(0, -1);
    expect(whole.map(({ content }) => content)).toEqual(whole.map((_, i) => `message ${i}`));
    expect(cut).toBe(true);
  });

  it.each([
    ["one long text", { messages: [new HumanMessage("x".repeat(50_000))] }],
    ["an error's message", { error: new Error("x".repeat(50_000)) }],
    ["a member's name", { ["x".repeat(50_000)]: 1 }],
    ["text that has to be escaped", { text: "\u0001".repeat(9_000) }],
  ])("is cut within %s, too", (_what, value) => {
    const text = wireWithin(value, 10_000, 1_000);
    expect(text.length).toBeLessThan(7_000);
    expect(JSON.parse(text)).toMatchObject({ cut: true });
  });

  it("keeps the beginning of a text that is cut", () => {
    const [message] = (
      JSON.parse(wireWithin({ messages: [new HumanMessage("ab".repeat(50_000))] }, 10_000, 1_000)) as {
        messages: { content: string }[];
      }
    ).messages;
    expect(message?.content).toMatch(/^(ab){400,500}a?$/);
  });
});
