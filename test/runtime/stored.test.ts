/** The stored form of graph values: records are revived, everything that only looks like one is the user's own data. */
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { Send } from "@langchain/langgraph";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { afterEach, describe, expect, it } from "vitest";
import { NESTING } from "../../src/lib/json.ts";
import { toWireJson } from "../../src/runtime/wire.ts";
import { dump, flatten, revive } from "../../src/runtime/stored.ts";
import { type Random, seeded } from "../support/random.ts";

const dumpAndParse = (value: unknown): unknown => JSON.parse(dump(value));
const storeAndRevive = async (value: unknown): Promise<unknown> => revive(dumpAndParse(value));
const record = (name: string, args: unknown, more = {}) => ({
  lc: 2,
  type: "constructor",
  id: [name],
  method: null,
  args,
  kwargs: {},
  ...more,
});
const object = (id: unknown, kwargs: unknown = {}) => ({ lc: 1, type: "constructor", id, kwargs });
const core = (...id: string[]) => ["langchain_core", ...id];

/** None of these is a record, though each is like one. */
const LOOKALIKES: unknown[] = [
  { lc: 1 },
  { lc: 2 },
  { lc: 2, type: "undefined", more: 1 },
  { lc: 2, type: "constructor" },
  { lc: 2, type: "constructor", id: ["Map"], args: 5 },
  { lc: 1, type: "secret", id: ["X"] },
  { lc: 1, type: "secret", id: ["toString"] },
  { lc: 1, type: "not_implemented", id: ["X"] },
  { lc: 1, type: "constructor", id: ["x"] },
  { lc: 1, type: "constructor", id: ["HumanMessage"] },
  { lc: 1, type: "constructor", id: "HumanMessage", kwargs: {} },
  record("Map", [5]),
  record("Map", [[["key"]]]),
  record("Map", [[["key", 1]]], { kwargs: { a: 1 } }),
  record("Set", []),
  record("Set", [[1]], { method: "from" }),
  record("Set", [[1]], { more: 1 }),
  record("RegExp", ["(", ""]),
  record("RegExp", ["a", 1]),
  record("Error", [{}]),
  record("TypeError", ["no"]),
  record("Uint8Array", [[256]]),
  record("Date", [[0]]),
  record("constructor", [[]]),
  record("__proto__", [[]]),
  object(null),
  object([]),
  object([1]),
  object(["x"]),
  object(["toString"]),
  object(["__proto__"]),
  object(["HumanMessage"], null),
  object(["HumanMessage"], JSON.parse('{"__proto__":1}')),
  object(["HumanMessage"], []),
  object(["HumanMessage"], 5),
  object(core("messages", "NoMessage"), { content: "a" }),
  object(core("prompts", "PromptTemplate"), null),
  object(core("prompts", "PromptTemplate"), { template: 5 }),
  object(core("prompts", "PromptTemplate"), { template: "{a", input_variables: 5 }),
  { lg_name: "Send", more: 1 },
  { __lc_escaped__: { lc: 2 } },
  JSON.parse('{"__proto__":{"lc":2},"constructor":1,"toJSON":2}'),
];

describe("what only looks like a record", () => {
  it.each(LOOKALIKES)("is kept as it is: %j", async (value) => {
    for (const given of [value, { deep: [value] }]) {
      expect(dumpAndParse(given)).toStrictEqual(given);
      expect(JSON.stringify(await revive(given))).toBe(JSON.stringify(given));
      expect(JSON.stringify(flatten(given))).toBe(JSON.stringify(given));
      expect(toWireJson(await revive(given))).toBe(JSON.stringify(given));
    }
  });

  it("does not keep what is beside it from being revived", async () => {
    const prompt = dumpAndParse(ChatPromptTemplate.fromMessages([["human", "{question}"]]));
    const value = {
      bad: LOOKALIKES,
      good: [dumpAndParse(new HumanMessage("a")), prompt, dumpAndParse(new Map([["k", 1]]))],
    };
    const { bad, good } = (await revive(value)) as { bad: unknown[]; good: unknown[] };
    expect(JSON.stringify(bad)).toBe(JSON.stringify(LOOKALIKES));
    expect(good[0]).toBeInstanceOf(HumanMessage);
    expect(await (good[1] as ChatPromptTemplate).formatMessages({ question: "why" })).toMatchObject([
      { content: "why" },
    ]);
    expect(good[2]).toStrictEqual(new Map([["k", 1]]));
  });

  it("is kept within a message, however often it is stored", async () => {
    const own = { lc: 2, values: [{ __lc_escaped__: 1 }, ...LOOKALIKES] };
    let value: unknown = new AIMessage({ content: "a", additional_kwargs: { own } });
    for (let times = 0; times < 3; times += 1) {
      value = await storeAndRevive(value);
      expect((value as AIMessage).additional_kwargs).toStrictEqual({ own });
      expect(flatten(dumpAndParse(value))).toMatchObject({ type: "ai", additional_kwargs: { own } });
    }
  });

  it.each([
    object(core("messages", "AIMessage"), { content: "a", response_metadata: null }),
    object(core("messages", "HumanMessage"), { contentBlocks: 5 }),
  ])("is data when it is a message of which LangChain makes none: %j", async (bad) => {
    expect(dumpAndParse(await revive([bad]))).toStrictEqual([bad]);
  });
});

describe("what is a record", () => {
  const builtins = [new Map<unknown, unknown>([[{ a: 1 }, new Set([null, 1])]]), /a+/gi, new Error("no")];

  it("is revived from Weir's form and from LangGraph's", async () => {
    const serde = new MemorySaver().serde;
    for (const value of [...builtins, new Uint8Array([0, 255]), new Set([new Map([["k", 1]])]), { a: [/b/] }]) {
      expect(await storeAndRevive(value)).toStrictEqual(value);
      const [, theirs] = await serde.dumpsTyped({ value });
      expect(await revive(JSON.parse(new TextDecoder().decode(theirs)))).toStrictEqual({ value });
    }
    expect(await storeAndRevive(undefined)).toBeUndefined();
    expect(await revive({ lc: 2, type: "undefined" })).toBeUndefined();
  });

  it("reads as what comes nearest in JSON", () => {
    expect(flatten(dumpAndParse([...builtins, new Uint8Array([7])]))).toStrictEqual([
      { '{"a":1}': [null, 1] },
      "a+",
      "no",
      [7],
    ]);
  });

  it("reads as text where the key of a map has no text", async () => {
    const keyed = new Map([[JSON.parse('{"toString":1}') as object, 1]]);
    expect(flatten(dumpAndParse(keyed))).toStrictEqual({ '{"toString":1}': 1 });
    expect(toWireJson(keyed)).toBe(JSON.stringify({ '{"toString":1}': 1 }));
  });

  it("shares nothing with another reading", async () => {
    const message = new AIMessage({ content: [{ type: "text", text: "a" }], additional_kwargs: { own: { lc: 9 } } });
    const text = dump([message, { plain: { a: [1] } }]);
    const parsed: unknown = JSON.parse(text);
    const [first, plain] = (await revive(parsed)) as [AIMessage, { plain: { a: number[] } }];
    (first.content as { text: string }[])[0]!.text = "changed";
    (first.additional_kwargs.own as { lc: number }).lc = 2;
    plain.plain.a.push(2);
    expect(JSON.stringify(parsed)).toBe(text);
    expect(dump(await revive(parsed))).toBe(text);
  });

  it("is a Send with its timeout", () => {
    const send = Object.assign(new Send("node", { a: 1 }), { timeout: 5 });
    expect(dumpAndParse(send)).toStrictEqual({ node: "node", args: { a: 1 }, timeout: 5 });
  });
});

describe("a secret of the environment", () => {
  const SECRET = "a-secret-of-the-environment";
  const NAMES = ["WEIR_ADMIN_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"];
  const before = { ...process.env };
  afterEach(() => {
    for (const name of NAMES) {
      delete process.env[name];
      if (before[name] !== undefined) process.env[name] = before[name];
    }
  });

  const secrets = NAMES.map((name) => ({ lc: 1, type: "secret", id: [name] }));
  it.each([
    ...secrets,
    ...secrets.map((secret) => object(core("prompts", "PromptTemplate"), { template: secret, input_variables: [] })),
    ...secrets.map((secret) => dumpAndParse(new HumanMessage({ content: "a", additional_kwargs: { secret } }))),
    ...secrets.map((secret) => object(core("messages", "HumanMessage"), { content: secret })),
    ...secrets.map((secret) => object(core("messages", "HumanMessage"), { content: { __lc_escaped__: secret } })),
    object(core("document_loaders", "langsmith", "LangSmithLoader"), { dataset_name: "x" }),
    object(core("prompts", "ChatPromptTemplate"), {
      input_variables: [],
      messages: [object(core("document_loaders", "langsmith", "LangSmithLoader"), { dataset_name: "x" })],
    }),
    object(core("utils", "env", "getEnvironmentVariable"), secrets[0]),
    object(core("tracers", "tracer_langchain", "LangChainTracer")),
  ])("is in nothing that is revived: %j", async (value) => {
    for (const name of NAMES) process.env[name] = SECRET;
    const revived = await revive([value]);
    for (const text of [dump(revived), toWireJson(revived), JSON.stringify(flatten([value]))])
      expect(text).not.toContain(SECRET);
  });

  it("stays where it is, because no function is called that a record names", async () => {
    const value = object(core("runnables", "ensureConfig"), { a: 1 });
    expect(await revive(value)).toStrictEqual(value);
    expect(Object.name).toBe("Object");
  });
});

describe("any JSON", () => {
  const MESSAGES: BaseMessage[] = [new HumanMessage("a"), new AIMessage({ content: "b", id: "1" })];
  const RECORDS: unknown[] = [
    ...MESSAGES,
    new Map([["k", 1]]),
    new Set([1]),
    /a/g,
    new Error("no"),
    new Uint8Array([1]),
    undefined,
    ChatPromptTemplate.fromMessages([["human", "{question}"]]),
  ].map(dumpAndParse);

  function anyJson(random: Random, depth: number): unknown {
    const pick = <T>(from: readonly T[]): T => from[random.between(0, from.length)] as T;
    const part = () => anyJson(random, depth - 1);
    const leaf = () => pick<unknown>([null, true, 0, -1.5, "", "text", "lc", 2, ...LOOKALIKES, ...RECORDS]);
    if (depth <= 0) return leaf();
    const names = ["lc", "type", "id", "kwargs", "args", "method", "__lc_escaped__", "__proto__", "a", ""];
    const choices = [
      leaf,
      () => Array.from({ length: random.between(0, 4) }, part),
      () => Object.fromEntries(Array.from({ length: random.between(0, 4) }, () => [pick(names), part()])),
      () => record(pick(["Map", "Set", "RegExp", "Error", "Uint8Array", "Date"]), [part()]),
      () => record("Map", [[[part(), part()]]]),
      () => record("Set", [[part(), part()]]),
      () => object(core("messages", pick(["AIMessage", "HumanMessage", "RemoveMessage", "ToolMessage", "X"])), part()),
      () =>
        object(["AIMessage"], {
          [pick(["content", "id", "tool_calls", "additional_kwargs", "response_metadata", "contentBlocks", "type"])]:
            part(),
          [pick(["lc_kwargs", "lc_aliases", "toJSON", "_getType", "name", "text"])]: part(),
        }),
      () => object(core("prompts", pick(["PromptTemplate", "ChatPromptTemplate", "ensureConfig"])), part()),
      () => ({ lc: pick([1, 2, "1"]), type: pick(["constructor", "secret", "undefined"]), id: part() }),
    ];
    return pick(choices)();
  }

  it("can be flattened, revived, and stored again", async () => {
    const random = seeded("stored form");
    for (let times = 0; times < 2_000; times += 1) {
      const value = anyJson(random, random.between(0, 7));
      const text = JSON.stringify(value);
      const revived = await revive(value);
      JSON.stringify(flatten(value));
      toWireJson(revived);
      dump(revived);
      expect(JSON.stringify(value), "changed by a reading").toBe(text);
    }
  });

  it.each([...LOOKALIKES.slice(0, 6), ...RECORDS])("may nest as deep as a request may: %j", async (innermost) => {
    for (const around of [
      (value: unknown) => [value],
      (value: unknown) => ({ lc: 2, value }),
      (value: unknown) => record("Set", [[value]]),
      (value: unknown) => object(["HumanMessage"], { content: value }),
      (value: unknown) => object(core("prompts", "PromptTemplate"), { template: value }),
    ]) {
      let value = innermost;
      for (let level = 0; level < NESTING; level += 1) value = around(value);
      const revived = await revive(value);
      expect(dump(revived).length).toBeGreaterThan(NESTING);
      toWireJson(revived);
      JSON.stringify(flatten(value));
    }
  });
});
