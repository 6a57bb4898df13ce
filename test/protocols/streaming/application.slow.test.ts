import { describe, expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { get } from "../../threads/client.ts";
import { command, human, read } from "./client.ts";

interface Listed {
  id: string;
  title: string;
  updatedAt: string;
}

describe("the application's threads", () => {
  it("begin with GET state, 404, and POST state", async () => {
    const caller = await newCaller();
    const path = `/api/threads/${crypto.randomUUID()}/state`;
    expect((await caller.fetch(path)).status).toBe(404);
    const made = await caller.fetch(path, { body: { values: { messages: [] } } });
    expect(made.status).toBe(200);
    const state = await made.json<Record<string, unknown>>();
    expect(Object.keys(state)).toEqual(
      expect.arrayContaining(["values", "next", "tasks", "checkpoint", "metadata", "created_at", "parent_checkpoint"]),
    );
    expect(await get(caller, path)).toEqual(state);
    const again = await caller.fetch(path, { body: {} });
    expect(await again.json()).toEqual(state);
    const wrong = await caller.fetch(path, { body: { values: { messages: [] }, as_node: "absent" } });
    expect(wrong.status).toBe(422);
  });

  it("have any id of the client's choosing", async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const names = ["my-thread", "user.7~draft_2", "x".repeat(255)];
    for (const name of names) {
      const path = `/api/threads/${name}`;
      expect((await caller.fetch(`${path}/state`)).status).toBe(404);
      const run = { assistant_id: "echo", input: human("hello"), config: { configurable: { thread_id: name } } };
      const started = await caller.fetch(`${path}/commands`, { body: { id: 1, method: "run.start", params: run } });
      const { meta, result } = await started.json<{ meta: { thread_id: string }; result: { run_id: string } }>();
      await (await caller.fetch(`${path}/runs/${result.run_id}/join`)).text();
      const state = await get<{ values: { messages: { content: string }[] } }>(caller, `${path}/state`);
      expect(state.values.messages.at(-1)?.content).toBe("You said: hello");
      expect(await get(caller, `/threads/${meta.thread_id}/state`)).toEqual(state);
      expect((await other.fetch(`${path}/state`)).status).toBe(404);
      expect((await caller.fetch(path, { method: "DELETE" })).status).toBe(204);
      expect((await caller.fetch(`${path}/state`)).status).toBe(404);
    }
    for (const name of ["x".repeat(256), "a%2Fb", "a%20b"])
      expect((await caller.fetch(`/api/threads/${name}/state`)).status).toBe(422);
  });

  it("that A2A addresses by a contextId are the same", async () => {
    const caller = await newCaller();
    const message = { messageId: "m", role: "ROLE_USER", contextId: "my-thread", parts: [{ text: "hello" }] };
    const sent = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    await (await caller.fetch("/a2a/echo", { body: sent })).text();
    const state = await get<{ values: { messages: unknown[] } }>(caller, "/api/threads/my-thread/state");
    expect(state.values.messages).toHaveLength(2);
  });

  it("may begin with an empty body, and on a thread that was made before", async () => {
    const caller = await newCaller();
    const made = await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>();
    const known = { metadata: { graph_id: "echo" } };
    const planned = await (await caller.fetch("/threads", { body: known })).json<{ thread_id: string }>();
    for (const id of [crypto.randomUUID(), made.thread_id, planned.thread_id]) {
      const path = `/api/threads/${id}/state`;
      expect((await caller.fetch(path)).status).toBe(404);
      const state = await (await caller.fetch(path, { method: "POST" })).json();
      expect(state).toMatchObject({ values: { messages: [] }, checkpoint: { checkpoint_id: expect.any(String) } });
      expect(await get(caller, path)).toEqual(state);
    }
  });

  it("start runs of the default assistant where none is named", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const body = { id: 1, method: "run.start", params: { input: human("hello") } };
    const answer = await caller.fetch(`/api/threads/${thread}/commands`, { body });
    expect(await answer.json()).toMatchObject({ type: "success", id: 1, result: { run_id: expect.any(String) } });
    await read(caller, thread);
    expect(await get(caller, `/threads/${thread}`)).toMatchObject({ metadata: { graph_id: "agent" } });
  });

  it("are listed with their titles, newest first", async () => {
    const caller = await newCaller();
    const [first, second, third] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    await caller.fetch(`/api/threads/${first}/state`, { body: {} });
    const long = "Tell me about rivers and lakes. ".repeat(5);
    await command(caller, second, "run.start", { assistant_id: "_", input: human(long) });
    await read(caller, second);
    await command(caller, third, "run.start", { assistant_id: "_", input: human("How  deep\nis it?") });
    const listTitles = async () => (await get<Listed[]>(caller, "/api/threads")).map(({ id, title }) => [id, title]);
    const expected = [
      [third, "How deep is it?"],
      [second, long.slice(0, 80)],
      [first, "New conversation"],
    ];
    await read(caller, third);
    expect(await listTitles()).toEqual(expected);
    const page = await caller.fetch("/api/threads?limit=1&offset=1");
    expect((await page.json<Listed[]>()).map(({ id }) => id)).toEqual([second]);
    expect(page.headers.get("x-pagination-next")).toBe("2");
    expect(await get(await newCaller(), "/api/threads")).toEqual([]);
  });

  it("have a title even when their state is too large for the index", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const message = { type: "human", content: `Large: ${"x".repeat(100_000)}` };
    await command(caller, thread, "run.start", { assistant_id: "echo", input: { messages: [message] } });
    await read(caller, thread, { channels: ["lifecycle"] });
    expect((await get<Listed[]>(caller, "/api/threads"))[0]?.title).toBe(`Large: ${"x".repeat(73)}`);
  });

  it("page through their past, and are gone when deleted", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", { assistant_id: "echo", input: human("hello") });
    await read(caller, thread);
    const history = async (body: object) =>
      (await caller.fetch(`/api/threads/${thread}/history`, { body })).json<
        { checkpoint: { checkpoint_id: string } }[]
      >();
    const all = await history({});
    expect(all.length).toBeGreaterThan(1);
    const [first] = await history({ limit: 1 });
    const before = { configurable: { checkpoint_id: first?.checkpoint.checkpoint_id } };
    expect([first, ...(await history({ before }))]).toEqual(all);
    const stream = await caller.fetch(`/threads/${thread}/stream`, { body: { channels: ["values"], since: 1 } });
    for (const attempt of [1, 2]) {
      const gone = await caller.fetch(`/api/threads/${thread}`, { method: "DELETE" });
      expect([attempt, gone.status]).toEqual([attempt, 204]);
    }
    // Streams of a deleted log end.
    await stream.text();
    expect((await caller.fetch(`/api/threads/${thread}/state`)).status).toBe(404);
    expect((await caller.fetch(`/api/threads/${thread}/history`, { body: {} })).status).toBe(404);
    expect(await get(caller, "/api/threads")).toEqual([]);
  });
});

describe("a thread at work", () => {
  it("does not read as idle, before its first checkpoint either", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", { assistant_id: "_", input: human("hello") });
    const { next } = await get<{ next: string[] }>(caller, `/api/threads/${thread}/state`);
    expect(next.length).toBeGreaterThan(0);
    await read(caller, thread);
    expect(await get(caller, `/api/threads/${thread}/state`)).toMatchObject({ next: [] });
  });

  it("is stopped as the clients do it, and says so", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const { result } = await command(caller, thread, "run.start", { assistant_id: "_", input: human("hello") });
    const path = `/api/threads/${thread}/runs/${String(result.run_id)}/cancel?wait=0&action=interrupt`;
    expect((await caller.fetch(path, { method: "POST" })).ok).toBe(true);
    const events = await read(caller, thread);
    expect(events.at(-1)?.params.data).toMatchObject({ event: "interrupted" });
  });
});
