/** What is left of a thread when all but its latest checkpoint is deleted, and when a run is. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { factory, ran } from "../../support/pausing-graphs.ts";
import { get, newThread, say } from "../client.ts";

type Json = Record<string, unknown>;
type Question = { id: string; value: string };

beforeEach(() => {
  ran.length = 0;
  factory.work = () => undefined;
});

const getStub = ({ workspaceId }: Caller, thread: string) => env.THREAD.getByName(`${workspaceId}:${thread}`);

async function wait(caller: Caller, thread: string, body: Json): Promise<Json> {
  return (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { input: null, ...body } })).json<Json>();
}

async function prune(caller: Caller, thread: string): Promise<void> {
  const body = { thread_ids: [thread], strategy: "keep_latest" };
  expect(await (await caller.fetch("/threads/prune", { body })).json()).toEqual({ pruned_count: 1 });
}

const readHistory = (caller: Caller, thread: string) => get<Json[]>(caller, `/threads/${thread}/history?limit=100`);

/** The questions that wait, as the thread and as its state have them. */
async function listQuestions(caller: Caller, thread: string): Promise<Question[]> {
  const { interrupts } = await get<{ interrupts: Record<string, Question[]> }>(caller, `/threads/${thread}`);
  const state = await get<{ tasks: { id: string; interrupts: Question[] }[] }>(caller, `/threads/${thread}/state`);
  const asked = state.tasks.filter((task) => task.interrupts.length > 0).map((task) => [task.id, task.interrupts]);
  expect(Object.fromEntries(asked)).toEqual(interrupts);
  return Object.values(interrupts).flat();
}

it("several questions of a nested graph are all shown, and all stay", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await wait(caller, thread, { assistant_id: "parallel", input: { said: [] } });
  const questions = await listQuestions(caller, thread);
  expect(questions.map(({ value }) => value).toSorted()).toEqual(["left?", "right?"]);
  await prune(caller, thread);
  expect(await listQuestions(caller, thread)).toEqual(questions);
  const resume = Object.fromEntries(questions.map(({ id, value }) => [id, `${value}!`]));
  const { said } = await wait(caller, thread, { assistant_id: "parallel", command: { resume } });
  expect((said as string[]).toSorted()).toEqual(['left: "left?!"', 'right: "right?!"']);
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

it("a thread with a run in flight is pruned after that run", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await wait(caller, thread, { assistant_id: "agent", input: say("hello") });
  const run = await (
    await caller.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "agent", input: say("count to 4") } })
  ).json<{ run_id: string }>();
  await prune(caller, thread);
  await get(caller, `/threads/${thread}/runs/${run.run_id}/join`);
  const pruneAndCount = async () => {
    await runDurableObjectAlarm(getStub(caller, thread));
    return (await readHistory(caller, thread)).length;
  };
  await expect.poll(pruneAndCount).toBe(1);
  const { values } = await get<{ values: { messages: unknown[] } }>(caller, `/threads/${thread}/state`);
  expect(values.messages).toHaveLength(4);
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
    const history = await readHistory(caller, thread);
    const ids = history.map(({ checkpoint }) => (checkpoint as { checkpoint_id: string }).checkpoint_id);
    const parents = history.flatMap(
      ({ parent_checkpoint: at }) => (at as { checkpoint_id: string } | null)?.checkpoint_id ?? [],
    );
    expect(parents.filter((id) => !ids.includes(id))).toEqual([]);
    const { messages } = (await wait(caller, thread, { assistant_id, input: say("d") })) as { messages: Json[] };
    expect(messages).toHaveLength(8);
  }
});
