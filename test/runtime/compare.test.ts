/** Whether a live value is what was stored of it. */
import { AIMessage, ChatMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Document } from "@langchain/core/documents";
import { Send } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { isStoredAs, shareText, dump } from "../../src/runtime/stored.ts";

class Own {
  constructor(readonly a: number) {}
  toJSON = () => ({ a: this.a });
}

const makers: (() => unknown)[] = [
  () => null,
  () => undefined,
  () => -0,
  () => Number.NaN,
  () => 10n,
  () => "text",
  () => true,
  () => [undefined, null, Number.POSITIVE_INFINITY, () => 1, [[]]],
  () => ({ a: undefined, b: () => 1, c: [{ d: "e" }], f: {} }),
  () => ({ b: 1, 1: 2, a: Number.NaN }),
  () => JSON.parse('{"__proto__":{"a":1}}') as unknown,
  () => Object.assign(Object.create(null) as object, { a: 1 }),
  () => new Date(0),
  () => [new Map([["a", new Set([1])]]), /a/g, new Error("no"), new Uint8Array([1])],
  () => new Own(1),
  () => new Document({ pageContent: "a", metadata: { b: 1 } }),
  () => new Send("node", { a: [1] }),
  () => new HumanMessage("a"),
  () => new HumanMessage({ content: [{ type: "text", text: "a" }], id: "1", name: "bob" }),
  () => new AIMessage({ content: "", tool_calls: [{ name: "f", args: { a: [1] }, id: "1" }] }),
  () => new AIMessage({ content: "a", ownField: { b: 1 }, usage_metadata: undefined } as never),
  () => new ToolMessage({ content: "a", tool_call_id: "1", artifact: { deep: [new Date(0)] } }),
  () => new ChatMessage({ content: "a", role: "b" }),
  () => new HumanMessage({ content: "a", additional_kwargs: { own: { lc: 1 }, __lc_escaped__: 1 } }),
];
const cases = makers.flatMap((make) => [{ make }, { make: () => ({ deep: [make()] }) }]);

/** Every way to change one place of a value. */
function changes(value: unknown): ((copy: unknown) => void)[] {
  if (typeof value !== "object" || value === null) return [];
  if (value instanceof Map) return [(copy) => (copy as Map<unknown, unknown>).set("new", 1)];
  return Object.entries(value).flatMap(([name, part]) => [
    (copy: unknown) => {
      (copy as Record<string, unknown>)[name] = "changed";
    },
    (copy: unknown) => Reflect.deleteProperty(copy as object, name),
    (copy: unknown) => Object.assign((copy as Record<string, object>)[name] ?? {}, { added: 1 }),
    ...changes(part).map((change) => (copy: unknown) => change((copy as Record<string, unknown>)[name])),
  ]);
}

const dumpAndParse = (value: unknown): unknown => JSON.parse(dump(value));
/** As JSON without an order of members, which does not count. */
const sortMembers = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sortMembers)
    : typeof value === "object" && value !== null
      ? Object.entries(value)
          .map(([name, part]) => [name, sortMembers(part)])
          .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      : value;

describe("a live value", () => {
  it.each(cases)("is what was stored of it, and not what was stored of another: %#", ({ make }) => {
    expect(isStoredAs(make(), dumpAndParse(make()))).toBe(true);
    for (const other of cases) {
      const isSame =
        JSON.stringify(sortMembers(dumpAndParse(make()))) === JSON.stringify(sortMembers(dumpAndParse(other.make())));
      expect(isStoredAs(make(), dumpAndParse(other.make()))).toBe(isSame);
    }
  });

  it.each(cases)("is something else once a part of it is: %#", ({ make }) => {
    for (const change of changes(make())) {
      const value = make();
      const stored = dumpAndParse(value);
      try {
        change(value);
        dump(value);
      } catch {
        continue;
      }
      const isSame = JSON.stringify(sortMembers(dumpAndParse(value))) === JSON.stringify(sortMembers(stored));
      expect(isStoredAs(value, stored), `${dump(value)} ${JSON.stringify(stored)}`).toBe(isSame);
    }
  });
});

it.each(cases)("text that is shared with a live value is the same text: %#", ({ make }) => {
  const value = make();
  const stored = dumpAndParse(value);
  shareText(value, stored);
  expect(stored).toStrictEqual(dumpAndParse(value));
});
