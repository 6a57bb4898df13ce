/** A request counts on the thread as it is when its run begins: what a client repeats, late or half, replaces nothing. */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { Client, eventsIn, hasWholeCalls, type Json, shown, user } from "./kit.ts";

const last = (events: Json[]) => events.at(-1) as Json;

describe.each(["gated", "gated_delta"])("on %s: what a client has of an answer", (graph) => {
  const answer = (id: string, content: string, toolCalls?: Json[]): Json => ({
    id,
    role: "assistant",
    content,
    toolCalls,
  });

  it("does not replace the whole answer of a run that was at work when the client asked on", async () => {
    const client = await Client.open(graph);
    client.close("look");
    const first = client.ask([user("u1", "one")]);
    await client.reach("look");
    // The client stopped in the arguments of the call.
    const [made] = (await client.messages()).slice(-1) as [Json];
    const half = answer(made.id as string, "", [
      { id: "call-1", type: "function", function: { name: "look", arguments: '{"at' } },
    ]);
    const second = client.ask([user("u1", "one"), half, user("u2", "two")]);
    await expect.poll(async () => (await client.runs()).length).toBe(2);
    client.release("look");
    await Promise.all([first, second]);
    expect(await client.texts()).toEqual(["one", "Read: one", "two", "Read: one, two"]);
    const messages = await client.messages();
    expect(hasWholeCalls(messages)).toBe(true);
    expect((messages[1] as Json).tool_calls).toMatchObject([{ name: "look", args: { at: "sky" } }]);
  });

  it("is left out under an id that the thread does not have, with the results of its calls", async () => {
    const client = await Client.open(graph);
    await client.ask([user("u1", "one")]);
    const half = answer("unknown", "Rea", [
      { id: "lost", type: "function", function: { name: "look", arguments: "{}" } },
    ]);
    const result = { id: "r1", role: "tool", content: "grey", toolCallId: "lost" };
    const events = await client.ask([user("u1", "one"), half, result, user("u2", "two")]);
    expect(await client.texts()).toEqual(["one", "Read: one", "two", "Read: one, two"]);
    expect(hasWholeCalls(await client.messages())).toBe(true);
    expect(shown(events).map(({ id }) => id)).not.toContain("unknown");
  });

  it("leads to no second answer when the client sends it again", async () => {
    const client = await Client.open(graph);
    await client.ask([user("u1", "one")]);
    const before = await client.messages();
    const conversation = shown(await client.ask([user("u1", "one"), answer("half", "Rea")]));
    expect(conversation).toHaveLength(4);
    const again = await client.ask(conversation);
    expect(last(again)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
    expect(again.find(({ type }) => type === "STATE_SNAPSHOT")?.snapshot).toMatchObject({ note: "seen 1" });
    expect(await client.messages()).toEqual(before);
    expect(client.times("say")).toBe(1);
    expect((await client.get("")).status).toBe("idle");
  });
});

describe("the same messages", () => {
  it("join the run that answers them, while it is at work and while it waits", async () => {
    const client = await Client.open("gated");
    client.close("call");
    const first = client.ask([user("u1", "one")]);
    await client.reach("call");
    const second = client.ask([user("u1", "one"), user("u2", "two")]);
    await expect.poll(async () => (await client.runs()).length).toBe(2);
    const joined = await client.post([user("u1", "one")], { runId: "again" });
    const waiting = await client.post([user("u1", "one"), user("u2", "two")]);
    client.release("call");
    const [one, two, again, waited] = await Promise.all([first, second, eventsIn(joined), eventsIn(waiting)]);
    expect(await client.texts()).toEqual(["one", "Read: one", "two", "Read: one, two"]);
    expect(await client.runs()).toHaveLength(2);
    expect(client.times("say")).toBe(2);
    const types = (events: Json[]) => events.map(({ type }) => type);
    expect(types(again)).toEqual(types(one));
    expect(shown(waited)).toEqual(shown(two));
    // Its id stays another name of the run: a client that repeats the request gets the same.
    const repeated = await client.ask([user("u1", "one")], { runId: "again" });
    expect(shown(repeated)).toEqual(shown(one));
    const path = joined.headers.get("content-location") as string;
    const run = await (await client.caller.fetch(path)).json<Json>();
    expect(run).toMatchObject({ status: "success", metadata: { source: "ag-ui" } });
    expect(await client.runs()).toHaveLength(2);
  });

  it("join it with half of the answer, and the results of tools that it has shown", async () => {
    const client = await Client.open("gated");
    client.close("say");
    const first = client.ask([user("u1", "one")]);
    await client.reach("say");
    const seen = (await client.messages()).slice(1);
    const half = seen.map(({ id, type, tool_call_id, content }): Json =>
      type === "tool"
        ? { id, role: "tool", toolCallId: tool_call_id, content }
        : { id, role: "assistant", content: "" },
    );
    const again = client.ask([user("u1", "one"), ...half]);
    const other = client.ask([
      user("u1", "one"),
      { id: "own", role: "tool", toolCallId: "of-the-client", content: "x" },
    ]);
    await expect.poll(async () => (await client.runs()).length).toBe(2);
    client.release("say");
    await Promise.all([first, again, other]);
    expect(await client.runs()).toHaveLength(2);
    expect(shown(await again)).toHaveLength(4);
  });

  it("begin a run after one that is being cancelled", async () => {
    const client = await Client.open("gated");
    client.close("say");
    const first = client.ask([user("u1", "one")]);
    await client.reach("say");
    const [run] = await client.runs();
    await client.cancel(run?.run_id as string);
    client.release("say");
    expect(last(await first)).toMatchObject({ outcome: { type: "cancelled" } });
    await client.ask([user("u1", "one")]);
    expect(await client.texts()).toEqual(["one", "Read: one"]);
    expect(hasWholeCalls(await client.messages())).toBe(true);
  });

  it("show an interrupt that waits again, and run nothing", async () => {
    const client = await Client.open("gated");
    const asked = last(await client.ask([user("u1", "one?")]));
    const conversation = shown(await client.ask([user("u1", "one?"), { id: "h", role: "assistant", content: "" }]));
    const again = last(await client.ask(conversation));
    expect(again.outcome).toEqual(asked.outcome);
    expect(again.outcome).toMatchObject({ type: "interrupt", interrupts: [{ message: "Sure?" }] });
    expect(client.times("say")).toBe(1);
    const [{ id }] = again.outcome.interrupts as [Json];
    const resume = [{ interruptId: id, status: "resolved", payload: "yes" }];
    await client.ask(conversation, { resume });
    expect(await client.texts()).toEqual(["one?", 'Read: one? ("yes")']);
  });

  it("run again where the run has failed, from before the message", async () => {
    const client = await Client.open("gated");
    expect(last(await client.ask([user("u1", "fail")]))).toMatchObject({ type: "RUN_ERROR" });
    const conversation = [user("u1", "fail"), { id: "half", role: "assistant", content: "" }];
    expect(last(await client.ask(conversation))).toMatchObject({ type: "RUN_ERROR" });
    expect(client.times("say")).toBe(2);
    expect(await client.get("")).toMatchObject({ status: "error", values: { log: ["call", "look"] } });
    expect(hasWholeCalls(await client.messages())).toBe(true);
  });
});

describe.each(["gated", "gated_delta", "short"])("on %s: a message that is edited", (graph) => {
  const steps = graph === "short" ? ["say"] : ["call", "look", "say"];

  it("is answered again, also twice, and continues the conversation", async () => {
    const client = await Client.open(graph);
    await client.ask([user("u1", "one")]);
    await client.ask([user("u1", "one"), user("u2", "two")]);
    for (const text of ["two b", "two c", "two d"]) {
      await client.ask([user("u1", "one"), user("u2", text)]);
      expect(await client.texts()).toEqual(["one", "Read: one", text, `Read: one, ${text}`]);
      await client.ask([user("u1", "one"), user("u2", text)]);
      expect(await client.texts()).toEqual(["one", "Read: one", text, `Read: one, ${text}`]);
    }
    await client.ask([user("u3", "three")]);
    expect((await client.texts()).slice(-2)).toEqual(["three", "Read: one, two d, three"]);
    expect((await client.get("/state")).values.log).toEqual([...steps, ...steps, ...steps]);
  });

  it.each([
    ["failed", "fail", async () => undefined],
    ["waits", "old?", async () => undefined],
    ["was cancelled", "old", async (client: Client, runId: string) => client.cancel(runId)],
  ])("replaces the old text whose run %s", async (_how, old, stop) => {
    const client = await Client.open(graph);
    client.close("say");
    const first = client.ask([user("u1", old)]);
    await client.reach("say");
    const [run] = await client.runs();
    await stop(client, run?.run_id as string);
    client.release("say");
    await first;
    const events = await client.ask([user("u1", "better")]);
    expect(last(events)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
    expect(await client.texts()).toEqual(["better", "Read: better"]);
    expect(await client.get("")).toMatchObject({
      status: "idle",
      interrupts: {},
      values: { log: steps },
    });
  });

  it("replaces the old text of a run that was at work", async () => {
    const client = await Client.open(graph);
    client.close("say");
    const first = client.ask([user("u1", "old")]);
    await client.reach("say");
    const second = client.ask([user("u1", "better")]);
    await expect.poll(async () => (await client.runs()).length).toBe(2);
    client.release("say");
    await Promise.all([first, second]);
    expect(await client.texts()).toEqual(["better", "Read: better"]);
  });

  it("in the middle begins a branch with the conversation that the client has", async () => {
    const client = await Client.open(graph);
    await client.ask([user("u1", "one")]);
    const conversation = shown(await client.ask([user("u1", "one"), user("u2", "two")]));
    const answer = conversation.slice(
      1,
      conversation.findIndex(({ id }) => id === "u2"),
    );
    const sent = [
      user("u1", "other"),
      ...answer.filter(({ role }) => role !== "tool"),
      user("u2", "two"),
      user("u3", "three"),
    ];
    const events = await client.ask(sent);
    expect(await client.texts()).toEqual(["other", "Read: one", "two", "three", "Read: other, two, three"]);
    expect(hasWholeCalls(await client.messages())).toBe(true);
    expect(shown(events).map(({ id }) => id)).toEqual((await client.messages()).map(({ id }) => id));
  });
});

it("a message that the graph has rewritten is not taken for an edit", async () => {
  const client = await Client.open("louder");
  await client.ask([user("u1", "one")]);
  await client.ask([user("u1", "one"), user("u2", "two")]);
  expect(await client.texts()).toEqual(["ONE", "Louder: one", "TWO", "Louder: two"]);
});

describe("the state of a client", () => {
  it("that has not followed a run to its end changes nothing, and a change of the person does", async () => {
    const client = await Client.open("gated");
    client.close("look");
    const first = client.ask([user("u1", "one")]);
    await client.reach("look");
    const state = { log: [], note: "" };
    const second = client.ask([user("u1", "one"), user("u2", "two")], { state });
    await expect.poll(async () => (await client.runs()).length).toBe(2);
    client.release("look");
    await Promise.all([first, second]);
    // As it was while the first run worked.
    const third = await client.ask([user("u3", "three")], { state: { note: "seen 5" } });
    const { values } = await client.get("/state");
    expect(values).toMatchObject({
      note: "seen 9",
      log: Array.from({ length: 3 }, () => ["call", "look", "say"]).flat(),
    });
    const changed = await client.ask(shown(third), { state: { note: "mine" } });
    expect(client.times("call")).toBe(4);
    expect(changed.find(({ type }) => type === "STATE_SNAPSHOT")?.snapshot).toMatchObject({ note: "mine" });
  });
});

it("two responses to two questions of the same conversation are two runs", async () => {
  const client = await Client.open("agui_asker");
  const { outcome } = last(await client.ask([user("u1", "one")]));
  const [one, two] = (outcome.interrupts as Json[]).map(({ id }) => ({
    interruptId: id as string,
    status: "resolved",
    payload: id as string,
  }));
  client.close("left");
  const first = client.ask([user("u1", "one")], { resume: [one] });
  await expect.poll(() => client.times("left") + client.times("right")).toBeGreaterThan(0);
  const second = client.ask([user("u1", "one")], { resume: [two] });
  await expect.poll(async () => (await client.runs()).length).toBe(3);
  client.release("left");
  await Promise.all([first, second]);
  const { log } = (await client.get("/state")).values as { log: string[] };
  expect(log.toSorted()).toEqual([`left ${one?.payload}`, `right ${two?.payload}`].toSorted());
});

describe("a restart of the thread's object", () => {
  it("keeps what the run was given, and the names of requests that have joined it", async () => {
    const client = await Client.open("gated");
    client.close("call");
    const first = client.ask([user("u1", "one")]);
    await client.reach("call");
    const second = client.ask([user("u1", "one"), user("u2", "two")]);
    await expect.poll(async () => (await client.runs()).length).toBe(2);
    const joined = await client.post([user("u1", "one")]);
    await abortAllDurableObjects();
    client.release("call");
    const [one, , again] = await Promise.all([first, second, eventsIn(joined)]);
    expect(last(again)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
    expect(shown(again)).toEqual(shown(one));
    expect(await client.texts()).toEqual(["one", "Read: one", "two", "Read: one, two"]);
    expect(hasWholeCalls(await client.messages())).toBe(true);
  });
});

it("a message whose earlier states are gone cannot be answered again: the run says so and changes nothing", async () => {
  const client = await Client.open("gated");
  await client.ask([user("u1", "one")]);
  await client.caller.fetch("/threads/prune", { body: { thread_ids: [client.threadId], strategy: "keep_latest" } });
  const before = await client.get("");
  expect(last(await client.ask([user("u1", "one")]))).toMatchObject({
    type: "RUN_ERROR",
    message: expect.stringContaining("no checkpoint before this message"),
  });
  expect(await client.get("")).toMatchObject({ status: "idle", values: before.values });
  await client.ask([user("u2", "two")]);
  expect((await client.texts()).slice(-1)).toEqual(["Read: one, two"]);
});

it.each(["rollback", "deletion"])("a request that joined a run does not run again after its %s", async (end) => {
  const client = await Client.open("gated");
  client.close("look");
  const first = client.post([user("u1", "one")], { runId: "first" });
  await client.reach("look");
  const joined = await client.post([user("u1", "one")], { runId: "joined" });
  const [run] = await client.runs();
  const runId = run?.run_id as string;
  if (end === "rollback") await client.cancel(runId, "rollback");
  else await client.caller.fetch(`/threads/${client.threadId}/runs/${runId}`, { method: "DELETE" });
  client.release("look");
  await Promise.all([(await first).text(), joined.text()]);
  for (const id of ["first", "joined"]) {
    const again = await client.post([user("u1", "one")], { runId: id });
    expect([again.status, (await again.json<Json>()).code]).toEqual([409, "run_deleted"]);
  }
  expect(await client.runs()).toEqual([]);
});
