/** Runs with `durability: "exit"`: what they leave is what they leave with any other durability. */
import { abortAllDurableObjects } from "cloudflare:test";
import { Command, MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { chat, pair, ran, SCHEMAS } from "../../support/delta-graphs.ts";
import { idsOf, Talk, textsIn } from "../state/talk.ts";

beforeEach(() => {
  ran.length = 0;
});

const EXIT = { durability: "exit" };
const KINDS = ["plain", "delta"] as const;

describe.each(KINDS)("with %s messages", (kind) => {
  it("a run that does not advance leaves one checkpoint, that can be read", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.say("one");
    await talk.say("well?");
    const before = await talk.history();
    await talk.wait({ input: null, ...EXIT });
    expect(await talk.texts()).toEqual(["one", "seen: one", "well?", "seen: one|seen: one|well?"]);
    expect(idsOf(await talk.history())).toEqual(idsOf(before));
  });

  it("a command that only updates is applied once", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.say("one");
    const update = { log: ["once"], messages: [{ role: "user", content: "told" }] };
    const result = await talk.wait({ command: { update }, ...EXIT });
    const { values } = await talk.state();
    expect(values.log).toEqual(["speak", "ask", "close", "once"]);
    expect(textsIn(values)).toEqual(["one", "seen: one", "told"]);
    expect(values).toEqual(result);
    expect((await talk.call<{ values: unknown }>("")).values).toEqual(values);
    const next = await talk.say("two");
    expect(textsIn(next).slice(0, 4)).toEqual(["one", "seen: one", "told", "two"]);
    expect((next.log as string[]).filter((one) => one === "once")).toHaveLength(1);
  });

  it.each([
    ["exit", "exit"],
    ["async", "exit"],
    ["exit", "async"],
  ])("the answers of two questions are kept, also after a restart (%s, then %s)", async (first, second) => {
    const talk = await Talk.begin(`pair-${kind}`);
    await talk.say("go", { durability: first });
    for (const [question, others] of [
      ["left?", ["right?"]],
      ["right?", []],
    ] as const) {
      const { id } = (await talk.state()).interrupts.find(({ value }) => value === question)!;
      await talk.wait({ command: { resume: { [id]: "yes" } }, durability: second });
      const answered = async () => (await talk.state()).interrupts.map(({ value }) => value);
      expect(await answered()).toEqual(others);
      await abortAllDurableObjects();
      expect(await answered()).toEqual(others);
    }
    expect((await talk.texts()).toSorted()).toEqual(["free", "go", "left: yes", "right: yes"]);
    expect(ran.toSorted()).toEqual(["free", "left", "right"]);
    const ids = idsOf(await talk.history());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("a run from an earlier update of the state leaves the same before and after a restart", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.say("well?");
    const { checkpoint_id } = await talk.update({ log: ["updated"] });
    await talk.wait({ command: { resume: "yes" } });
    await talk.say("two");
    await talk.wait({ input: null, checkpoint_id, ...EXIT });
    const before = [await talk.state(), await talk.history()];
    expect((before[0] as { values: unknown }).values).toEqual((await talk.call<{ values: unknown }>("")).values);
    await abortAllDurableObjects();
    expect([await talk.state(), await talk.history()]).toEqual(before);
  });

  it("a run that steps leaves what LangGraph's MemorySaver has, once", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    const graph = chat(SCHEMAS[kind]()).compile({ checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "1" }, durability: "exit" as const };
    for (const text of ["one", "two?"]) {
      await talk.say(text, EXIT);
      await graph.invoke({ messages: [{ role: "user", content: text }] }, config);
    }
    await talk.wait({ command: { resume: "yes" }, ...EXIT });
    await graph.invoke(new Command({ resume: "yes" }), config);
    const memory = [];
    for await (const { metadata, values, next } of graph.getStateHistory(config))
      memory.push([metadata?.source, metadata?.step, values.log, next]);
    const own = (await talk.history()).map(({ metadata, values, next }) => [
      metadata.source,
      metadata.step,
      values.log,
      next,
    ]);
    expect(own).toEqual(memory);
  });
});

it("LangGraph's MemorySaver applies a command that only updates twice", async () => {
  const graph = pair(SCHEMAS.plain()).compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" }, durability: "exit" as const };
  await graph.updateState(config, { log: ["one"] }, "last");
  await graph.invoke(new Command({ update: { log: ["once"] } }), config);
  // When this is mended, docs/semantics.md need no longer name the difference.
  expect((await graph.getState(config)).values.log).toEqual(["one", "once", "once"]);
});
