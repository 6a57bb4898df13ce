/** States of any JSON, of many items, and of nodes that change in place what they got. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { failing } from "../support/state-graphs.ts";
import { get, newThread } from "./client.ts";

type Json = Record<string, unknown>;
interface Message {
  content: string;
  additional_kwargs: Json;
}
interface Values extends Json {
  messages: Message[];
  items: unknown[];
  note: unknown;
}
interface State {
  values: Values;
}

afterEach(() => {
  failing.now = false;
});

async function wait(caller: Caller, thread: string, input: Json | null): Promise<Values> {
  const body = { assistant_id: "states", input };
  const answer = await caller.fetch(`/threads/${thread}/runs/wait`, { body });
  expect(answer.status).toBe(200);
  return answer.json<Values>();
}

const stateOf = async (caller: Caller, thread: string) => (await get<State>(caller, `/threads/${thread}/state`)).values;
const texts = ({ messages }: Values) => messages.map(({ content }) => content);

const LOOKALIKES = [
  { lc: 2 },
  { lc: 1, type: "constructor", id: ["x"] },
  { lc: 1, type: "constructor", id: ["x"], kwargs: { a: 1 } },
  { lc: 1, type: "secret", id: ["WEIR_ADMIN_KEY"] },
  { lc: 1, type: "not_implemented", id: ["X"] },
  { lc: 2, type: "constructor", id: ["Map"], args: 5 },
  {
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "document_loaders", "langsmith", "LangSmithLoader"],
    kwargs: { dataset_name: "x" },
  },
];

describe("what looks like a record of the stored form", () => {
  const message = { role: "user", content: "hi", additional_kwargs: { looks: LOOKALIKES } };
  const given = { messages: [message], items: LOOKALIKES, note: { deep: LOOKALIKES } };
  const kept = { items: LOOKALIKES, note: { deep: LOOKALIKES } };

  it("is a state like any other, as a run's input", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    expect(await wait(caller, thread, given)).toMatchObject(kept);
    await abortAllDurableObjects();
    const values = await stateOf(caller, thread);
    expect(values).toMatchObject(kept);
    expect(values.messages[0]?.additional_kwargs).toEqual({ looks: LOOKALIKES });
    expect((await get<State>(caller, `/threads/${thread}`)).values).toMatchObject(kept);
    const history = await caller.fetch(`/threads/${thread}/history`, { body: {} });
    expect((await history.json<State[]>())[0]?.values).toMatchObject(kept);
    expect((await wait(caller, thread, { act: "more" })).items).toEqual([...LOOKALIKES, "more"]);
  });

  it("is a state like any other, as an update", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller, { metadata: { graph_id: "states" } });
    const body = { values: given, as_node: "step" };
    expect((await caller.fetch(`/threads/${thread}/state`, { body })).status).toBe(200);
    await abortAllDurableObjects();
    expect(await stateOf(caller, thread)).toMatchObject(kept);
  });
});

describe("a node that changes in place what it got", () => {
  const given = {
    messages: [{ role: "user", content: "hi" }],
    items: [{ deep: [{ text: "a" }] }],
    note: { text: "n" },
  };

  it("has its change stored with what it returns, and in no state before", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await wait(caller, thread, given);
    const answered = await wait(caller, thread, { act: "edit" });
    const edited = { items: [{ deep: [{ text: "a +edited" }] }, { last: true }], note: { text: "n +edited" } };
    expect(answered).toMatchObject(edited);
    expect(texts(answered)).toEqual(["hi +edited", "edited"]);
    for (const lost of [false, true]) {
      if (lost) await abortAllDurableObjects();
      const values = await stateOf(caller, thread);
      expect(values).toMatchObject(edited);
      expect(texts(values)).toEqual(["hi +edited", "edited"]);
      const [, ...before] = await get<State[]>(caller, `/threads/${thread}/history`);
      expect(JSON.stringify(before.map((state) => state.values))).not.toContain("+edited");
    }
  });

  it("has its change stored with channels that no node wrote, too", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await wait(caller, thread, given);
    await wait(caller, thread, { act: "hide" });
    const values = await stateOf(caller, thread);
    expect([texts(values), values.note]).toEqual([["hi +hidden"], { text: "n +hidden" }]);
  });

  it("does not show it to the run that tries again", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await wait(caller, thread, given);
    failing.now = true;
    await wait(caller, thread, { act: "fail" });
    for (let times = 0; times < 2; times += 1) await wait(caller, thread, null);
    expect(texts(await stateOf(caller, thread))).toEqual(["hi"]);
    failing.now = false;
    expect(texts(await wait(caller, thread, null))).toEqual(["hi +footer", "done"]);
    expect(texts(await stateOf(caller, thread))).toEqual(["hi +footer", "done"]);
  });
});

it("a state of 200,000 items is written, read, copied and continued", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  expect((await wait(caller, thread, { act: "grow" })).items.length).toBe(200_000);
  await abortAllDurableObjects();
  const { items } = await stateOf(caller, thread);
  expect([items.length, items.at(-1)]).toEqual([200_000, 9]);
  const history = await get<State[]>(caller, `/threads/${thread}/history?limit=2`);
  expect(history[0]?.values.items.length).toBe(200_000);
  const copied = await caller.fetch(`/threads/${thread}/copy`, { method: "POST" });
  const { thread_id } = await copied.json<{ thread_id: string }>();
  for (const id of [thread, thread_id]) {
    expect((await wait(caller, id, { act: "more" })).items.slice(-2)).toEqual([9, "more"]);
    expect((await stateOf(caller, id)).items.length).toBe(200_001);
  }
});

describe("an update that is a list", () => {
  const post = async (caller: Caller, path: string, values: unknown) => {
    const answer = await caller.fetch(path, { body: { values } });
    return { status: answer.status, body: await answer.json() };
  };

  it("applies its updates in order", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller, { metadata: { graph_id: "states" } });
    const updates = [{ items: [1], note: "n" }, { items: [2] }];
    expect((await post(caller, `/threads/${thread}/state`, updates)).status).toBe(200);
    expect(await stateOf(caller, thread)).toMatchObject({ items: [1, 2], note: "n" });
    expect((await post(caller, `/threads/${thread}/state`, [])).status).toBe(200);
    expect(await stateOf(caller, thread)).toMatchObject({ items: [1, 2], note: "n" });
    expect((await post(caller, `/api/threads/${thread}/state`, [{ items: [3] }])).status).toBe(200);
    expect((await stateOf(caller, thread)).items).toEqual([1, 2, 3]);
  });

  it("is refused when it holds anything else", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller, { metadata: { graph_id: "states" } });
    expect((await post(caller, `/threads/${thread}/state`, ["a"])).status).toBe(422);
    expect((await post(caller, `/threads/${thread}/state`, [{ items: [1] }, 2])).status).toBe(422);
  });

  it("is the value where the state is one", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller, { metadata: { graph_id: "lists" } });
    expect((await post(caller, `/threads/${thread}/state`, [{ a: 1 }, { b: 2 }])).status).toBe(200);
    expect(await stateOf(caller, thread)).toEqual([{ a: 1 }, { b: 2 }]);
  });
});
