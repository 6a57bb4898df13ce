/** A thread of a workspace that encrypts: what is stored, what a destroyed key leaves, and what still works then. */
import { env } from "cloudflare:workers";
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { threadObject } from "../../../src/threads/remote.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { type Key, makeKey } from "../../support/encryption.ts";

const SAID = "the vault is behind the painting";
const input = { messages: [{ role: "user", content: SAID }] };

const destroy = async (caller: Caller, { id }: Key) =>
  caller.fetch(`/api/v1/encryption-keys/${id}/destroy`, { body: { confirm: id } });

async function newThread(caller: Caller): Promise<string> {
  const made = await caller.fetch("/threads", { body: {} });
  return (await made.json<{ thread_id: string }>()).thread_id;
}

/** The answer once the run has ended: its body is read. */
async function run(caller: Caller, thread: string, more: object = {}): Promise<{ status: number; text: string }> {
  const body = { assistant_id: "echo", input, ...more };
  const answer = await caller.fetch(`/threads/${thread}/runs/wait`, { body });
  return { status: answer.status, text: await answer.text() };
}

/** All texts of all tables of a thread's object. */
async function readStored(caller: Caller, thread: string): Promise<string> {
  return runInDurableObject(threadObject(env, caller.workspaceId, thread), (_, { storage }) => {
    const names = storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const own = names.filter(({ name }) => !name.startsWith("_cf"));
    return JSON.stringify(own.map(({ name }) => storage.sql.exec(`SELECT * FROM ${name}`).toArray()));
  });
}

describe("a thread of a workspace that encrypts", () => {
  it("holds nothing readable of what was said, and reads as any other", async () => {
    const [caller, plain] = [await newCaller(), await newCaller()];
    const key = await makeKey(caller);
    const [thread, other] = [await newThread(caller), await newThread(plain)];
    expect((await run(caller, thread)).status).toBe(200);
    expect((await run(plain, other)).status).toBe(200);
    expect(await readStored(plain, other)).toContain(SAID);
    const held = await readStored(caller, thread);
    expect(held).not.toContain(SAID);
    expect(held).toContain(key.id);
    const state = await (await caller.fetch(`/threads/${thread}/state`)).text();
    expect(state).toContain(SAID);
    const search = async (body: object) => caller.fetch("/threads/search", { body });
    await vi.waitFor(async () => expect(await (await search({})).text()).toContain(SAID), { timeout: 5_000 });
    const refused = await search({ values: { messages: [] } });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining("encrypts the states")]);
  });

  it("is read with the older keys after a rotation, and not after one is destroyed", async () => {
    const caller = await newCaller();
    const first = await makeKey(caller);
    const [thread, old] = [await newThread(caller), await newThread(caller)];
    await run(caller, thread);
    await run(caller, old);
    const second = await makeKey(caller);
    expect((await run(caller, thread)).status).toBe(200);
    expect(await readStored(caller, thread)).toContain(second.id);
    expect((await destroy(caller, second)).status).toBe(409);
    expect((await destroy(caller, first)).status).toBe(200);
    for (const path of ["", "/state", "/runs"]) {
      const answer = await caller.fetch(`/threads/${old}${path}`);
      expect([path, answer.status, (await answer.json<{ detail: string }>()).detail]).toEqual([
        path,
        410,
        expect.stringContaining("destroyed"),
      ]);
    }
    expect((await run(caller, old)).status).toBe(410);
    expect((await caller.fetch(`/threads/${thread}/history`)).status).toBeLessThan(500);
    const listThreads = async () =>
      (await caller.fetch("/threads/search", { body: {} })).json<Record<string, unknown>[]>();
    const lost = { values: null, error: { error: "KeyDestroyed" } };
    expect((await listThreads()).find(({ thread_id }) => thread_id === old)).toMatchObject(lost);
    for (const id of [old, thread]) {
      expect((await caller.fetch(`/threads/${id}`, { method: "DELETE" })).status).toBe(204);
      expect((await caller.fetch(`/threads/${id}`)).status).toBe(404);
    }
    expect(await (await caller.fetch("/threads/search", { body: {} })).json()).toEqual([]);
  });

  it("reads what it stored before the first key, and a copy of it holds nothing readable", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const long = { role: "user", content: SAID + "x".repeat(2_000_000) };
    await run(caller, thread);
    const updated = await caller.fetch(`/threads/${thread}/state`, { body: { values: { messages: [long] } } });
    expect([updated.status, await updated.text()]).toEqual([200, expect.any(String)]);
    const before = await (await caller.fetch(`/threads/${thread}/state`)).json<{ values: unknown }>();
    await makeKey(caller);
    const after = await (await caller.fetch(`/threads/${thread}/state`)).json<{ values: unknown }>();
    expect(after.values).toEqual(before.values);
    expect(await readStored(caller, thread)).toContain(SAID);
    const copied = await caller.fetch(`/threads/${thread}/copy`, { method: "POST" });
    const { thread_id: copy } = await copied.json<{ thread_id: string }>();
    expect(await readStored(caller, copy)).not.toContain(SAID);
    const again = await caller.fetch(`/threads/${copy}/copy`, { method: "POST" });
    const { thread_id: second } = await again.json<{ thread_id: string }>();
    for (const id of [copy, second]) {
      await abortAllDurableObjects();
      const state = await (await caller.fetch(`/threads/${id}/state`)).json<{ values: unknown }>();
      expect(state.values).toEqual(before.values);
      expect((await run(caller, id)).status).toBe(200);
      expect(await readStored(caller, id)).not.toContain(SAID);
    }
  });

  it("answers 410 where a row of a destroyed key is needed, and can be deleted", async () => {
    const caller = await newCaller();
    const first = await makeKey(caller);
    const thread = await newThread(caller);
    const webhook = "https://hooks.example/never";
    await run(caller, thread, { webhook });
    await makeKey(caller);
    await caller.fetch(`/threads/${thread}`, { method: "PATCH", body: { metadata: { seen: true } } });
    expect((await destroy(caller, first)).status).toBe(200);
    await abortAllDurableObjects();
    const shown = await caller.fetch(`/threads/${thread}`);
    expect(shown.status).toBe(410);
    for (const path of ["/state", "/runs", "/history"]) {
      const answer = await caller.fetch(`/threads/${thread}${path}`);
      expect([path, answer.status < 500]).toEqual([path, true]);
      await answer.text().catch(() => undefined);
    }
    expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
    // The trace of the run, which the change has sealed again, is still delivered.
    expect(await readStored(caller, thread)).not.toContain(first.id);
  });

  it("with a run that has not ended is not used after its key is destroyed", async () => {
    const caller = await newCaller();
    const first = await makeKey(caller);
    const thread = await newThread(caller);
    const waiting = { assistant_id: "echo", input, after_seconds: 3_600 };
    expect((await caller.fetch(`/threads/${thread}/runs`, { body: waiting })).status).toBe(200);
    await makeKey(caller);
    expect((await destroy(caller, first)).status).toBe(200);
    const statuses = [];
    for (const path of ["", "/state", "/runs"]) statuses.push((await caller.fetch(`/threads/${thread}${path}`)).status);
    expect(statuses).toEqual([410, 410, 410]);
    expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
  });
});
