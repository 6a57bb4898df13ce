/** A thread that several graphs use: each state is read through the graph that wrote it, and keeps what the others hold. */
import { expect, it } from "vitest";
import "../../support/delta-graphs.ts";
import { graphs } from "../../../src/deployment.ts";
import { say } from "../client.ts";
import { type Json, Talk, textsIn } from "./talk.ts";

const KINDS = ["plain", "delta"] as const;
const JOT = { assistant_id: "jot", input: { log: ["other"] } };

it.each(KINDS)("a run of another graph between two of the first leaves what they hold (%s)", async (kind) => {
  for (const durability of ["async", "exit"]) {
    const talk = await Talk.begin(`chat-${kind}`);
    await talk.wait({ input: { ...say("one"), title: "kept" } });
    await talk.wait({ ...JOT, durability });
    const result = await talk.say("two", { durability });
    expect(textsIn(result)).toEqual(["one", "seen: one", "two", "seen: one|seen: one|two"]);
    expect(result.title).toBe("kept");
    expect((await talk.state()).values).toEqual(result);
    expect((await talk.wait({ ...JOT, interrupt_before: ["jot"] })).note).toBe("noted");
  }
});

it.each(KINDS)("each state of the history has the values of its own graph (%s)", async (kind) => {
  const talk = await Talk.begin(`chat-${kind}`);
  await talk.say("one");
  await talk.wait(JOT);
  const [newest, ...earlier] = await talk.history();
  expect(Object.keys(newest!.values)).toEqual(["note", "log"]);
  const first = earlier.find(({ metadata }) => metadata.graph_id !== "jot")!;
  expect(textsIn(first.values)).toEqual(["one", "seen: one"]);
  const { checkpoint_id } = first.checkpoint;
  expect(textsIn((await talk.call<{ values: Json }>(`state/${checkpoint_id}`)).values)).toEqual(["one", "seen: one"]);
});

it.each(KINDS)(
  "pruning and the deletion of runs keep the channels of the graph that is not the last (%s)",
  async (kind) => {
    for (const how of ["prune", "delete"]) {
      const talk = await Talk.begin(`chat-${kind}`);
      await talk.say("one");
      const second = await talk.run({ input: say("two") });
      await talk.wait(JOT);
      if (how === "prune") await talk.prune();
      else await talk.deleteRun(second);
      const result = await talk.say("three");
      // A run that began after the deleted one has what that one said.
      expect(textsIn(result).slice(0, 3)).toEqual(["one", "seen: one", "two"]);
      expect(await talk.texts()).toHaveLength(6);
    }
  },
);

it.each(KINDS)("a run of another graph that is not due changes nothing of what is read (%s)", async (kind) => {
  const talk = await Talk.begin(`chat-${kind}`);
  await talk.say("one?");
  const before = await talk.state();
  await talk.call("runs", { ...JOT, after_seconds: 3600 });
  expect(await talk.state()).toMatchObject({ values: before.values, next: before.next, interrupts: before.interrupts });
  await talk.prune();
  expect(await talk.texts()).toEqual(["one?", "seen: one?"]);
  await talk.update({ messages: [{ role: "user", content: "added" }] }, { as_node: "speak" });
  expect(await talk.texts()).toEqual(["one?", "seen: one?", "added"]);
  const { thread_id } = await talk.call<{ thread_id: string }>("copy", {});
  const copied = await talk.call<{ values: Json }>(`/threads/${thread_id}/state`);
  expect(textsIn(copied.values)).toEqual(["one?", "seen: one?", "added"]);
});

it("a command runs on a thread whose last graph has other channels", async () => {
  const talk = await Talk.begin("chat-plain");
  await talk.say("one");
  const { note } = await talk.wait({ assistant_id: "jot", command: { goto: "jot" } });
  expect(note).toBe("noted");
});

it("a command of another graph is refused while a node waits that it does not have", async () => {
  const talk = await Talk.begin("chat-plain");
  await talk.say("one?");
  await expect(talk.wait({ assistant_id: "jot", command: { goto: "jot" } })).rejects.toThrow(/node .*ask.* is gone/);
});

it("the history of a graph that is no longer deployed is shown through the newest one", async () => {
  const talk = await Talk.begin("chat-plain");
  await talk.say("one");
  await talk.wait(JOT);
  const { "chat-plain": removed } = graphs;
  Reflect.deleteProperty(graphs, "chat-plain");
  const history = await talk.history();
  graphs["chat-plain"] = removed!;
  expect(history.map(({ values }) => values.log)).toContainEqual(["speak", "ask", "close"]);
});
