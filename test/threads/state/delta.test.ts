/** What is replayed from earlier checkpoints stays whole when these are deleted, and when a conversation branches. */
import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { chat, SCHEMAS } from "../../support/delta-graphs.ts";
import { say } from "../client.ts";
import { type Json, Talk, textsIn } from "./talk.ts";

const KINDS = ["plain", "delta"] as const;

describe.each(KINDS)("with %s messages", (kind) => {
  it("a state update, then keep_latest, keeps what was said", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.say("one");
    await talk.update({ log: ["updated"] });
    await talk.prune();
    expect(await talk.history()).toHaveLength(1);
    expect(await talk.texts()).toEqual(["one", "seen: one"]);
    expect(textsIn(await talk.say("two"))).toEqual(["one", "seen: one", "two", "seen: one|seen: one|two"]);
  });

  it("the deletion of the run before a state update leaves what the update holds", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.say("one");
    const second = await talk.run({ input: say("two") });
    await talk.update({ log: ["updated"] });
    const before = await talk.state();
    await talk.deleteRun(second);
    expect((await talk.state()).values).toEqual(before.values);
  });

  it("supersteps of a new thread are kept by keep_latest", async () => {
    const supersteps = ["one", "two"].map((content) => ({
      updates: [{ values: { messages: [{ role: "user", content }] }, as_node: "speak" }],
    }));
    const talk = await Talk.begin(`chat-${kind}`, { metadata: { graph_id: `chat-${kind}` }, supersteps });
    expect(await talk.texts()).toEqual(["one", "two"]);
    await talk.prune();
    expect(await talk.texts()).toEqual(["one", "two"]);
  });

  it("the deletion of a run whose graph is gone leaves what later runs hold", async () => {
    const graph = `chat-${kind}`;
    const talk = await Talk.begin(graph);
    const first = await talk.run({ input: say("one") });
    await talk.say("two");
    const before = await talk.state();
    const { [graph]: removed } = graphs;
    Reflect.deleteProperty(graphs, graph);
    await talk.deleteRun(first);
    graphs[graph] = removed!;
    expect((await talk.state()).values).toEqual(before.values);
    expect(textsIn(await talk.say("three")).slice(0, 4)).toEqual(textsIn(before.values));
  });

  it("the deletion of a run that answered one of two questions leaves what the step has made of it", async () => {
    const talk = await Talk.begin(`pair-${kind}`);
    await talk.say("go");
    const answer = async (question: string) => {
      const { id } = (await talk.state()).interrupts.find(({ value }) => value === question)!;
      return talk.run({ command: { resume: { [id]: "yes" } } });
    };
    const left = await answer("left?");
    await answer("right?");
    const before = await talk.state();
    expect(textsIn(before.values)).toContain("left: yes");
    await talk.deleteRun(left);
    expect((await talk.state()).values).toEqual(before.values);
  });

  it("a command's update under a checkpoint that takes over what a deleted run held is applied once", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    const first = await talk.run({ input: say("one") });
    for (const text of ["two", "three"])
      await talk.wait({ command: { update: { log: [text], messages: [{ role: "user", content: text }] } } });
    const before = await talk.state();
    expect(before.values.log).toEqual(["speak", "ask", "close", "two", "three"]);
    await talk.deleteRun(first);
    expect((await talk.state()).values).toEqual(before.values);
  });

  it("an edited message that is edited again is the newest branch, as with MemorySaver", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    const graph = chat(SCHEMAS[kind]()).compile({ checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "1" } };
    for (const text of ["one", "two"]) {
      await talk.say(text);
      await graph.invoke({ messages: [new HumanMessage(text)] }, config);
    }
    for (const text of ["two b", "two c", "two d"]) {
      const said = `two${text === "two b" ? "" : text === "two c" ? " b" : " c"}`;
      // As useStream does: from the parent of the first checkpoint that has the message.
      const first = (await talk.history()).findLast(({ values }) => textsIn(values).includes(said))!;
      const result = await talk.say(text, { checkpoint_id: first.parent_checkpoint!.checkpoint_id });
      let parent: Json | undefined;
      for await (const state of graph.getStateHistory(config))
        if ((state.values as { messages?: HumanMessage[] }).messages?.some((one) => one.text === said))
          parent = state.parentConfig as Json;
      await graph.invoke({ messages: [new HumanMessage(text)] }, parent as never);
      expect(textsIn(result)).toEqual(["one", "seen: one", text, `seen: one|seen: one|${text}`]);
      expect(await talk.texts()).toEqual(textsIn(result));
      const memory = (await graph.getState(config)).values as { messages: HumanMessage[] };
      expect(memory.messages.map((one) => one.text)).toEqual(textsIn(result));
      expect(textsIn((await talk.call("")).values)).toEqual(textsIn(result));
    }
    const next = await talk.say("three");
    expect(textsIn(next).slice(0, 4)).toEqual(["one", "seen: one", "two d", "seen: one|seen: one|two d"]);
  });

  it("a message that is edited from a state update is the newest branch", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.say("one");
    const { checkpoint_id } = await talk.update({ log: ["updated"] });
    for (const text of ["two", "two b", "two c"]) {
      const result = await talk.say(text, { checkpoint_id });
      expect(textsIn(result)).toEqual(["one", "seen: one", text, `seen: one|seen: one|${text}`]);
      expect(await talk.texts()).toEqual(textsIn(result));
    }
  });

  it("a run from an earlier state update shows what it leaves", async () => {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.say("one");
    const { checkpoint_id } = await talk.update({ log: ["updated"] }, { as_node: "close" });
    await talk.say("two");
    await talk.wait({ input: null, checkpoint_id });
    const { values } = await talk.state();
    expect((await talk.call("")).values).toEqual(values);
    expect(textsIn(values)).toEqual(["one", "seen: one"]);
  });
});
