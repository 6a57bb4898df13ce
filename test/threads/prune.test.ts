/** What is left of a thread when all but its latest checkpoint is deleted, and when a run is. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { graphs } from "../../src/graphs/index.ts";
import type { ThreadRecord } from "../../src/threads/record.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { factory, ran } from "../support/pausing-graphs.ts";
import { get, newThread, say } from "./client.ts";
import { changeRecord, recordIn } from "../support/thread-tables.ts";

type Json = Record<string, unknown>;
type Question = { id: string; value: string };

beforeEach(() => {
  ran.length = 0;
  factory.work = () => undefined;
});

const objectOf = ({ workspaceId }: Caller, thread: string) => env.THREAD.getByName(`${workspaceId}:${thread}`);

async function wait(caller: Caller, thread: string, body: Json): Promise<Json> {
  return (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { input: null, ...body } })).json<Json>();
}

async function prune(caller: Caller, thread: string): Promise<void> {
  const body = { thread_ids: [thread], strategy: "keep_latest" };
  expect(await (await caller.fetch("/threads/prune", { body })).json()).toEqual({ pruned_count: 1 });
}

const historyOf = (caller: Caller, thread: string) => get<Json[]>(caller, `/threads/${thread}/history?limit=100`);

/** The questions that wait, as the thread and as its state have them. */
async function questionsOf(caller: Caller, thread: string): Promise<Question[]> {
  const { interrupts } = await get<{ interrupts: Record<string, Question[]> }>(caller, `/threads/${thread}`);
  const state = await get<{ tasks: { id: string; interrupts: Question[] }[] }>(caller, `/threads/${thread}/state`);
  const asked = state.tasks.filter((task) => task.interrupts.length > 0).map((task) => [task.id, task.interrupts]);
  expect(Object.fromEntries(asked)).toEqual(interrupts);
  return Object.values(interrupts).flat();
}

it("a nested question stays answerable, and what has finished does not run again", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await wait(caller, thread, { assistant_id: "nested", input: { said: ["go"] } });
  expect(ran.toSorted()).toEqual(["before", "beside"]);
  const [question] = await questionsOf(caller, thread);
  await prune(caller, thread);
  expect(await historyOf(caller, thread)).toHaveLength(1);
  expect(await questionsOf(caller, thread)).toEqual([question]);
  const answered = await wait(caller, thread, {
    assistant_id: "nested",
    command: { resume: { [question!.id]: "yes" } },
  });
  expect(answered).toMatchObject({ said: expect.arrayContaining(["go", 'inner: "yes"', "beside", "last"]) });
  expect(ran.toSorted()).toEqual(["before", "beside", "inner", "last"]);
});

it("several questions of a nested graph are all shown, and all stay", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await wait(caller, thread, { assistant_id: "parallel", input: { said: [] } });
  const questions = await questionsOf(caller, thread);
  expect(questions.map(({ value }) => value).toSorted()).toEqual(["left?", "right?"]);
  await prune(caller, thread);
  expect(await questionsOf(caller, thread)).toEqual(questions);
  const resume = Object.fromEntries(questions.map(({ id, value }) => [id, `${value}!`]));
  const { said } = await wait(caller, thread, { assistant_id: "parallel", command: { resume } });
  expect((said as string[]).toSorted()).toEqual(['left: "left?!"', 'right: "right?!"']);
});

it("messages that are replayed from earlier checkpoints are stored in the latest", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const turn = { assistant_id: "delta", input: say("hi") };
  for (let i = 0; i < 3; i += 1) await wait(caller, thread, turn);
  const before = await get<{ values: Json }>(caller, `/threads/${thread}/state`);
  await prune(caller, thread);
  expect(await historyOf(caller, thread)).toHaveLength(1);
  expect((await get<{ values: Json }>(caller, `/threads/${thread}/state`)).values).toEqual(before.values);
  expect((await get<{ values: Json }>(caller, `/threads/${thread}`)).values).toEqual(before.values);
  const { messages } = (await wait(caller, thread, turn)) as { messages: { content: string }[] };
  expect(messages.map(({ content }) => content).slice(-4)).toEqual(["hi", "5 so far", "hi", "7 so far"]);
});

it("an update of a state that is replayed is shown by its thread", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller, { metadata: { graph_id: "delta" } });
  const update = (content: string) => ({ values: { messages: [{ role: "user", content }] }, as_node: "answer" });
  for (const content of ["one", "two"]) {
    const written = await caller.fetch(`/threads/${thread}/state`, { body: update(content) });
    expect(written.status).toBe(200);
  }
  for (const path of [`/threads/${thread}`, `/threads/${thread}/state`]) {
    const { values } = await get<{ values: { messages: { content: string }[] } }>(caller, path);
    expect(values.messages.map(({ content }) => content)).toEqual(["one", "two"]);
  }
});

it("without its graph, nothing is deleted from which a state is replayed", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  for (let i = 0; i < 2; i += 1) await wait(caller, thread, { assistant_id: "delta", input: say("hi") });
  const { delta } = graphs;
  const { values } = await get<{ values: Json }>(caller, `/threads/${thread}/state`);
  Reflect.deleteProperty(graphs, "delta");
  await prune(caller, thread);
  graphs.delta = delta!;
  expect((await get<{ values: Json }>(caller, `/threads/${thread}/state`)).values).toEqual(values);
});

it("keep_latest as a TTL works after each change", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller, { ttl: { strategy: "keep_latest", ttl: 60 } });
  const expire = () =>
    runInDurableObject(objectOf(caller, thread), (_, { storage }) => {
      changeRecord(storage, { ttl: { ...recordIn<ThreadRecord>(storage).ttl, expires: 1 } });
    });
  for (let i = 1; i <= 2; i += 1) {
    await wait(caller, thread, { assistant_id: "echo", input: say(`turn ${i}`) });
    expect((await historyOf(caller, thread)).length).toBeGreaterThan(1);
    await expire();
    await abortAllDurableObjects();
    await get(caller, `/threads/${thread}`);
    await runDurableObjectAlarm(objectOf(caller, thread));
    expect(await historyOf(caller, thread)).toHaveLength(1);
    const { ttl } = await get<{ ttl: Json }>(caller, `/threads/${thread}?include=ttl`);
    expect(ttl).toMatchObject({ strategy: "keep_latest", ttl_minutes: 60 });
  }
});

it("a thread with a run in flight is pruned after that run", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await wait(caller, thread, { assistant_id: "agent", input: say("hello") });
  const run = await (
    await caller.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "agent", input: say("count to 4") } })
  ).json<{ run_id: string }>();
  await prune(caller, thread);
  await get(caller, `/threads/${thread}/runs/${run.run_id}/join`);
  const pruned = async () => {
    await runDurableObjectAlarm(objectOf(caller, thread));
    return (await historyOf(caller, thread)).length;
  };
  await expect.poll(pruned).toBe(1);
  const { values } = await get<{ values: { messages: unknown[] } }>(caller, `/threads/${thread}/state`);
  expect(values.messages).toHaveLength(4);
});

it("a deleted run takes its checkpoints and its answers with it", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await wait(caller, thread, { assistant_id: "nested", input: { said: ["go"] } });
  const questions = await questionsOf(caller, thread);
  const { values } = await get<{ values: Json }>(caller, `/threads/${thread}`);
  await wait(caller, thread, { assistant_id: "nested", command: { resume: "yes" } });
  const [last] = await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`);
  expect((await caller.fetch(`/threads/${thread}/runs/${last!.run_id}`, { method: "DELETE" })).status).toBe(204);
  expect(await questionsOf(caller, thread)).toEqual(questions);
  expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "interrupted", values });
  const { said } = await wait(caller, thread, { assistant_id: "nested", command: { resume: "no" } });
  expect(said).toContain('inner: "no"');
});

it("later turns stay whole when an earlier run is deleted", async () => {
  const caller = await newCaller();
  for (const assistant_id of ["delta", "echo"]) {
    const thread = await newThread(caller);
    for (const text of ["a", "b", "c"]) await wait(caller, thread, { assistant_id, input: say(text) });
    const state = await get<{ values: Json }>(caller, `/threads/${thread}/state`);
    const runs = await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`);
    await caller.fetch(`/threads/${thread}/runs/${runs[1]!.run_id}`, { method: "DELETE" });
    expect((await get<{ values: Json }>(caller, `/threads/${thread}/state`)).values).toEqual(state.values);
    const history = await historyOf(caller, thread);
    const ids = history.map(({ checkpoint }) => (checkpoint as { checkpoint_id: string }).checkpoint_id);
    const parents = history.flatMap(
      ({ parent_checkpoint: at }) => (at as { checkpoint_id: string } | null)?.checkpoint_id ?? [],
    );
    expect(parents.filter((id) => !ids.includes(id))).toEqual([]);
    const { messages } = (await wait(caller, thread, { assistant_id, input: say("d") })) as { messages: Json[] };
    expect(messages).toHaveLength(8);
  }
});
