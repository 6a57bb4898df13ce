/** Threads that hold more than one call to their object can carry. */
import { expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { get, newThread, stream } from "../client.ts";

interface State {
  values: { messages: { content: string }[] };
  checkpoint: { checkpoint_id: string };
}

it("gives a history longer than any one message between objects may be", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller, { metadata: { graph_id: "echo" } });
  const add = async (content: string) => {
    const values = { messages: [{ role: "user", content }] };
    const added = await caller.fetch(`/threads/${thread}/state`, { body: { values, as_node: "echo" } });
    expect(added.status).toBe(200);
  };
  // 10 states of about 3.6 MB: more than the 32 MiB that a call can give.
  for (let i = 0; i < 8; i += 1) await add(String(i).repeat(450_000));
  for (let i = 0; i < 10; i += 1) await add(`small ${i}`);
  const history = await caller.fetch(`/threads/${thread}/history`, { body: { limit: 10 } });
  expect(history.status).toBe(200);
  const text = await history.text();
  expect(text.length).toBeGreaterThan(33_600_000);
  const states = JSON.parse(text) as State[];
  expect(states.map(({ values }) => values.messages.at(-1)?.content)).toEqual(
    Array.from({ length: 10 }, (_, i) => `small ${9 - i}`),
  );

  const picked = await caller.fetch(`/threads/${thread}/history`, { body: { limit: 3, select: ["checkpoint"] } });
  const all = await picked.json<State[]>();
  expect(all.map((state) => Object.keys(state))).toEqual([["checkpoint"], ["checkpoint"], ["checkpoint"]]);
  const extract = { last: "values.messages[-1].type", source: "metadata.source", none: "values.x" };
  const body = { limit: 3, select: ["checkpoint"], extract };
  const short = await (await caller.fetch(`/threads/${thread}/history`, { body })).json<Record<string, unknown>[]>();
  expect(short.map((state) => Object.keys(state))).toEqual(short.map(() => ["checkpoint", "extracted"]));
  expect(short[0]?.extracted).toEqual({ last: "human", source: "update", none: null });
  const wrong = await caller.fetch(`/threads/${thread}/history`, { body: { extract: { a: "tasks[0]" } } });
  expect(wrong.status).toBe(422);

  const few = await get<State[]>(caller, `/threads/${thread}/history?limit=2`);
  expect(few.map(({ checkpoint }) => checkpoint)).toEqual(all.slice(0, 2).map(({ checkpoint }) => checkpoint));

  const left = await caller.fetch(`/threads/${thread}/history?limit=20`);
  await left.body?.cancel();
  expect((await get<State[]>(caller, `/threads/${await newThread(caller)}/history`)).length).toBe(0);
  expect((await caller.fetch(`/threads/${crypto.randomUUID()}/history`)).status).toBe(404);
});

it("refuses a state past the limit, and the thread works on", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller, { metadata: { graph_id: "echo" } });
  const add = async (i: number) => {
    const values = { messages: [{ role: "user", content: String(i).repeat(7_000_000) }] };
    return caller.fetch(`/threads/${thread}/state`, { body: { values, as_node: "echo" } });
  };
  for (let i = 0; i < 3; i += 1) expect((await add(i)).status).toBe(200);
  const refused = await add(3);
  expect(refused.status).toBe(422);
  expect((await refused.json<{ detail: string }>()).detail).toMatch(/25165824/);

  const run = { assistant_id: "echo", input: { messages: [{ role: "user", content: "hi" }] }, stream_mode: "updates" };
  const waited = await caller.fetch(`/threads/${thread}/runs/wait`, { body: run });
  const { messages } = await waited.json<State["values"]>();
  expect(messages.map(({ content }) => content.length)).toEqual([7_000_000, 7_000_000, 7_000_000, 2, 12]);
  const frames = await stream(caller, thread, run);
  expect(frames.at(-1)).toMatchObject({
    event: "updates",
    data: { echo: { messages: [{ content: "You said: hi" }] } },
  });
  const long = { ...run, input: { messages: [{ role: "user", content: "x".repeat(7_000_000) }] } };
  const failed = await (await caller.fetch(`/threads/${thread}/runs/wait`, { body: long })).json();
  expect(failed).toMatchObject({ __error__: { error: "RangeError", message: expect.stringContaining("25165824") } });
  expect(await (await caller.fetch(`/threads/${thread}/runs/wait`, { body: run })).json()).toHaveProperty("messages");
  expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
});

it("a search gives the states that fit into one answer, and null for longer ones", async () => {
  const caller = await newCaller();
  // A request takes 8 MiB, so the longest state comes in two.
  for (const sizes of [[4_500_000, 4_500_000], [2_000_000], [1_000_000]]) {
    const thread = await newThread(caller, { metadata: { graph_id: "echo" } });
    for (const size of sizes) {
      const values = { messages: [{ role: "user", content: "x".repeat(size) }] };
      const body = { values, as_node: "echo" };
      expect((await caller.fetch(`/threads/${thread}/state`, { body })).status).toBe(200);
    }
  }
  const search = async (limit: number) => {
    const body = { sort_by: "created_at", sort_order: "asc", limit };
    const found = await (
      await caller.fetch("/threads/search", { body })
    ).json<{ values: { messages: unknown[] } | null }[]>();
    return found.map(({ values }) => values?.messages.length ?? null);
  };
  expect(await search(10)).toEqual([null, 1, 1]);
  expect(await search(1)).toEqual([2]);
});
