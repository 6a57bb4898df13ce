/** A run whose process stops is started again, a limited number of times. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, parseFrames, say } from "../client.ts";
import { changeRow, rowsIn } from "../../support/thread-tables.ts";

/** How often the node `heavy` has begun, and what it does then. */
const heavy = { begun: 0, work: async () => new Promise<void>(() => undefined) };

const State = new StateSchema({ messages: MessagesValue });
const poison = new StateGraph(State)
  .addNode("light", () => ({ messages: [new AIMessage("light")] }))
  .addNode("heavy", async () => {
    heavy.begun += 1;
    await heavy.work();
    return { messages: [new AIMessage("heavy")] };
  })
  .addEdge(START, "light")
  .addEdge("light", "heavy")
  .addEdge("heavy", END)
  .compile({ name: "poison" });
Object.assign(graphs, { poison });

async function started(caller: Caller, thread: string): Promise<string> {
  const body = { assistant_id: "poison", input: say("go") };
  return (await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>()).run_id;
}

/** Waits until the node has begun once more, then kills the object. */
async function die(caller: Caller, thread: string, times: number): Promise<void> {
  await expect.poll(() => heavy.begun, { timeout: 10_000 }).toBe(times);
  await abortAllDurableObjects();
  await caller.fetch(`/threads/${thread}`);
}

it("ends with an error that names the node after three attempts", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  heavy.begun = 0;
  const run = await started(caller, thread);
  for (const times of [1, 2, 3]) await die(caller, thread, times);
  const result = await get(caller, `/threads/${thread}/runs/${run}/join`);
  expect(result).toMatchObject({
    __error__: { error: "RunAttemptsExceeded", message: expect.stringMatching(/stopped 3 times.*"heavy"/) },
  });
  expect(await get(caller, `/threads/${thread}/runs/${run}`)).toMatchObject({ status: "error" });
  const trace = async () => (await caller.fetch(`/api/v1/runs/${run}`)).json();
  const shown = { name: "poison", inputs: say("go"), error: expect.stringMatching(/stopped 3 times/) };
  await expect.poll(trace, { timeout: 10_000 }).toMatchObject(shown);
  // What it had done is kept, and the thread takes the next run.
  const { status, values } = await get<{ status: string; values: { messages: { content: string }[] } }>(
    caller,
    `/threads/${thread}`,
  );
  expect(status).toBe("error");
  expect(values.messages.map(({ content }) => content)).toEqual(["go", "light"]);
  heavy.work = async () => undefined;
  const again = await caller.fetch(`/threads/${thread}/runs/wait`, {
    body: { assistant_id: "poison", input: say("go") },
  });
  expect(await again.json()).toHaveProperty("messages");
  expect(heavy.begun).toBe(4);
  heavy.work = async () => new Promise<void>(() => undefined);
});

it("is found by its error, and a run without input continues from its last checkpoint", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  heavy.begun = 0;
  const run = await started(caller, thread);
  for (const times of [1, 2, 3]) await die(caller, thread, times);
  await get(caller, `/threads/${thread}/runs/${run}/join`);
  const filter = 'and(eq(status, "error"), search("RunAttemptsExceeded"))';
  const died = async () => {
    const [project] = await get<{ id: string }[]>(caller, "/api/v1/sessions?name=default");
    const body = { session: [project?.id], is_root: true, filter };
    const response = await caller.fetch("/api/v1/runs/query", { body });
    return (await response.json<{ runs: { id: string; thread_id: string }[] }>()).runs;
  };
  await expect.poll(died, { timeout: 10_000 }).toMatchObject([{ id: run, thread_id: thread }]);
  heavy.work = async () => undefined;
  const body = { assistant_id: "poison", input: null };
  const state = await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).json();
  heavy.work = async () => new Promise<void>(() => undefined);
  expect(state).toMatchObject({ messages: [{ content: "go" }, { content: "light" }, { content: "heavy" }] });
  expect(heavy.begun).toBe(4);
});

it("counts deaths with the same tasks finished", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  heavy.begun = 0;
  const run = await started(caller, thread);
  await expect.poll(() => heavy.begun).toBe(1);
  const outcome = async () =>
    runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${thread}`), (_, { storage }) => {
      const [row] = rowsIn<{ outcome: string }>(storage, "SELECT outcome FROM runs");
      return JSON.parse(row?.outcome ?? "") as object;
    });
  expect(await outcome()).toMatchObject({ attempt: 1 });
  await die(caller, thread, 1);
  await expect.poll(() => heavy.begun).toBe(2);
  expect(await outcome()).toMatchObject({ attempt: 2, deaths: 1, finished: 1 });
  await die(caller, thread, 2);
  await expect.poll(() => heavy.begun).toBe(3);
  expect(await outcome()).toMatchObject({ attempt: 3, deaths: 2, finished: 1 });
  await caller.fetch(`/threads/${thread}/runs/${run}/cancel?wait=1`, { method: "POST" });
  const stream = parseFrames(await (await caller.fetch(`/threads/${thread}/runs/${run}/stream`)).text());
  expect(stream.filter(({ event }) => event === "metadata").map(({ data }) => data.attempt)).toEqual([1, 2, 3]);
});

it("counts a run's time from its first attempt", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  heavy.begun = 0;
  const run = await started(caller, thread);
  await expect.poll(() => heavy.begun).toBe(1);
  await runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${thread}`), (_, { storage }) => {
    const [row] = rowsIn<{ outcome: string }>(storage, "SELECT outcome FROM runs");
    const outcome = JSON.stringify({ ...(JSON.parse(row?.outcome ?? "") as object), began: Date.now() - 3_601_000 });
    changeRow(storage, "runs", { run_id: run }, { outcome });
  });
  await abortAllDurableObjects();
  const result = await get(caller, `/threads/${thread}/runs/${run}/join`);
  expect(result).toMatchObject({ __error__: { error: "TimeoutError" } });
});
