/** What runs and checkpoints say of themselves: metadata, answered questions, and how much room they take. */
import { expect, it } from "vitest";
import "../../support/delta-graphs.ts";
import { say } from "../client.ts";
import { type Json, idsOf, Talk } from "./talk.ts";

it("runs and checkpoints have the metadata of the thread, the assistant and the run", async () => {
  const talk = await Talk.begin("chat-plain", { metadata: { team: "blue", tag: "of the thread" } });
  const run = await talk.run({ input: say("one"), metadata: { tag: "of the run" } });
  await talk.update({ log: ["updated"] });
  const { assistant_id } = await talk.call<{ assistant_id: string }>(`runs/${run}`);
  const names = { graph_id: "chat-plain", assistant_id };
  const ofRun = { team: "blue", tag: "of the run", ...names };
  expect((await talk.call<{ metadata: Json }>(`runs/${run}`)).metadata).toMatchObject(ofRun);
  const [listed] = await talk.call<{ metadata: Json }[]>("runs");
  expect(listed?.metadata).toMatchObject(ofRun);
  const [updated, ...earlier] = await talk.history();
  expect(updated?.metadata).toMatchObject({ team: "blue", tag: "of the thread", source: "update", ...names });
  expect(updated?.metadata).not.toHaveProperty("run_id");
  for (const { metadata } of earlier) expect(metadata).toMatchObject({ ...ofRun, run_id: run });
});

it("states are found by the metadata of the thread, the run, the graph and the assistant", async () => {
  const talk = await Talk.begin("chat-plain", { metadata: { team: "blue" } });
  await talk.wait({ input: say("one"), metadata: { turn: 1 } });
  await talk.wait({ assistant_id: "jot", input: { log: ["other"] }, metadata: { turn: 2 } });
  const all = await talk.history();
  const found = async (metadata: Json) => (await talk.history({ metadata })).length;
  expect(await found({ team: "blue" })).toBe(all.length);
  expect(await found({ team: "red" })).toBe(0);
  for (const [turn, graph_id] of [
    [1, "chat-plain"],
    [2, "jot"],
  ] as const) {
    const own = all.filter(({ metadata }) => metadata.graph_id === graph_id);
    expect(idsOf(await talk.history({ metadata: { turn } }))).toEqual(idsOf(own));
    expect(await found({ graph_id, assistant_id: own[0]!.metadata.assistant_id })).toBe(own.length);
  }
});

it("long metadata of a thread are stored once", async () => {
  const talk = await Talk.begin("chat-plain", { metadata: { notes: "x".repeat(50_000) } });
  for (const text of ["one", "two", "three"]) await talk.say(text);
  const { total_bytes } = await talk.call<{ total_bytes: number }>("storage");
  expect(total_bytes).toBeLessThan(50_000);
  for (const { metadata } of await talk.history()) expect(metadata.notes).toHaveLength(50_000);
});

it("metadata cannot take the place of what the server and LangGraph write", async () => {
  const own = { run_id: "mine", step: 99, source: "fork", delta_writes_versioned: true, graph_fingerprint: "mine" };
  const talk = await Talk.begin("chat-plain", { metadata: own });
  const run = await talk.run({ input: say("one"), metadata: own });
  const history = await talk.history();
  expect(history.map(({ metadata }) => metadata.step)).toEqual([3, 2, 1, 0, -1]);
  for (const { metadata } of history) {
    expect(metadata.run_id).toBe(run);
    expect(metadata.graph_fingerprint).not.toBe("mine");
    expect(metadata).not.toHaveProperty("delta_writes_versioned");
  }
});

it("an update that ends the step of a run is not one of that run", async () => {
  const talk = await Talk.begin("chat-plain");
  const run = await talk.run({ input: say("one?") });
  await talk.call("state", { values: null, as_node: "__end__" });
  const [newest] = await talk.history();
  expect(newest?.metadata).toMatchObject({ source: "update", graph_id: "chat-plain" });
  expect(newest?.metadata).not.toHaveProperty("run_id");
  await talk.deleteRun(run);
  expect(idsOf(await talk.history())).toEqual([newest!.checkpoint.checkpoint_id]);
});

it("the history shows what was asked, also when it is answered", async () => {
  const talk = await Talk.begin("chat-plain");
  await talk.say("sure?");
  const asked = await talk.state();
  expect(asked.interrupts.map(({ value }) => value)).toEqual(["sure?"]);
  await talk.wait({ command: { resume: "yes" } });
  const { checkpoint_id } = asked.checkpoint;
  const then = (await talk.history()).find(({ checkpoint }) => checkpoint.checkpoint_id === checkpoint_id)!;
  expect(then.interrupts).toEqual(asked.interrupts);
  expect((await talk.call<{ interrupts: unknown }>(`state/${checkpoint_id}`)).interrupts).toEqual(asked.interrupts);
  expect((await talk.state()).interrupts).toEqual([]);
  expect((await talk.call<{ interrupts: unknown }>("")).interrupts).toEqual({});
});

it("the storage of a channel is told as versions and bytes", async () => {
  const talk = await Talk.begin("chat-plain");
  await talk.say("one");
  const { channel_values } = await talk.call<{ channel_values: Json }>("storage");
  const { by_channel, count } = channel_values as { by_channel: Record<string, Json>; count: number };
  expect(Object.keys(by_channel.messages!).toSorted()).toEqual(["bytes", "versions"]);
  expect(Object.values(by_channel).reduce((sum, { versions }) => sum + Number(versions), 0)).toBe(count);
});
