/** States of any JSON, and updates that are lists. */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import "../../support/state-graphs.ts";
import { get, newThread } from "../client.ts";

type Json = Record<string, unknown>;
interface Message {
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

async function wait(caller: Caller, thread: string, input: Json): Promise<Values> {
  const body = { assistant_id: "states", input };
  const answer = await caller.fetch(`/threads/${thread}/runs/wait`, { body });
  expect(answer.status).toBe(200);
  return answer.json<Values>();
}

const readState = async (caller: Caller, thread: string) =>
  (await get<State>(caller, `/threads/${thread}/state`)).values;

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
    const values = await readState(caller, thread);
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
    expect(await readState(caller, thread)).toMatchObject(kept);
  });
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
    expect(await readState(caller, thread)).toMatchObject({ items: [1, 2], note: "n" });
    expect((await post(caller, `/threads/${thread}/state`, [])).status).toBe(200);
    expect(await readState(caller, thread)).toMatchObject({ items: [1, 2], note: "n" });
    expect((await post(caller, `/api/threads/${thread}/state`, [{ items: [3] }])).status).toBe(200);
    expect((await readState(caller, thread)).items).toEqual([1, 2, 3]);
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
    expect(await readState(caller, thread)).toEqual([{ a: 1 }, { b: 2 }]);
  });
});
