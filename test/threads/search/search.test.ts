/** The index of a workspace's threads and its shards. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type IndexRow, indexShard } from "../../../src/threads/search/rpc.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { countRowsWritten } from "../../support/rows-written.ts";
import { recordStatements } from "../../support/statements.ts";

interface Found {
  thread_id: string;
  updated_at: string;
}

async function search(caller: Caller, body: object): Promise<Found[]> {
  return (await caller.fetch("/threads/search", { body })).json<Found[]>();
}

const count = async (caller: Caller, body: object) => (await caller.fetch("/threads/count", { body })).json<number>();

const row = (n: number, more: Partial<IndexRow> = {}): IndexRow => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
  status: n % 2 === 0 ? "idle" : "error",
  metadata: { n, even: n % 2 === 0 },
  config: {},
  values: { n },
  hasValues: true,
  open: false,
  interrupts: {},
  error: null,
  createdAt: 1_000 + n,
  updatedAt: 1_000 + n,
  stateUpdatedAt: 1_000 + n,
  revision: 1,
  ...more,
});

it("merges its shards: order, pages, filters and counts", async () => {
  const caller = await newCaller();
  for (let n = 0; n < 30; n += 1) await indexShard(env, caller.workspaceId, n % 3).put(row(n));
  expect(await count(caller, {})).toBe(10);
  await indexShard(env, caller.workspaceId, 0).grow(3);
  expect(await count(caller, {})).toBe(30);
  expect(await count(caller, { metadata: { even: true } })).toBe(15);
  const order = (rows: Found[]) => rows.map(({ thread_id }) => Number(thread_id.slice(-12)));
  const page = { limit: 7, sort_by: "updated_at" };
  expect(order(await search(caller, page))).toEqual([29, 28, 27, 26, 25, 24, 23]);
  expect(order(await search(caller, { ...page, offset: 7 }))).toEqual([22, 21, 20, 19, 18, 17, 16]);
  expect(order(await search(caller, { ...page, sort_order: "asc" }))).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(order(await search(caller, { values: { n: 17 } }))).toEqual([17]);
  expect(order(await search(caller, { status: "error", limit: 2 }))).toEqual([29, 27]);
  expect((await caller.fetch("/threads/search", { body: page })).headers.get("x-pagination-next")).toBe("7");
});

it("finds threads by the words of their title and of their messages", async () => {
  const caller = await newCaller();
  const shard = indexShard(env, caller.workspaceId, 0);
  const says = (...messages: object[]) => ({ values: { messages } });
  await shard.put(
    row(1, { metadata: { title: "Refund for Order 1182" }, ...says({ type: "human", content: "hello" }) }),
  );
  await shard.put(row(2, says({ type: "human", content: 'She said "refund" twice,\nthen left' })));
  await shard.put(row(3, says({ type: "ai", content: [{ type: "text", text: "100 % of the Order" }] })));
  await shard.put(row(4, { values: null, metadata: { title: "Straße" } }));
  const findIds = async (query: string) =>
    (await search(caller, { query, sort_by: "thread_id", sort_order: "asc" })).map((one) => one.thread_id.slice(-1));
  expect(await findIds("refund")).toEqual(["1", "2"]);
  expect(await findIds("  ORDER refund ")).toEqual(["1"]);
  expect(await findIds('"refund"')).toEqual(["2"]);
  expect(await findIds("order")).toEqual(["1", "3"]);
  expect(await findIds("%")).toEqual(["3"]);
  expect(await findIds("Straße")).toEqual(["4"]);
  // Names and types of members are no text of a message.
  expect(await findIds("human")).toEqual([]);
  expect(await findIds("x".repeat(200))).toEqual([]);
  expect(await findIds("")).toEqual(["1", "2", "3", "4"]);
  expect(await count(caller, { query: "refund" })).toBe(2);
  for (const query of ["x".repeat(201), "a b c d e f g h i j k", 7])
    expect((await caller.fetch("/threads/search", { body: { query } })).status).toBe(422);
  expect(await search(await newCaller(), { query: "refund" })).toEqual([]);
});

it("keeps the newer of two rows of a thread", async () => {
  const caller = await newCaller();
  const shard = indexShard(env, caller.workspaceId, 0);
  const puts = [5, 9, 7].map(async (revision) => shard.put(row(1, { revision, metadata: { revision } })));
  // A row is refused alone: the others of its transaction are written.
  const other = shard.put(row(2, { revision: 1 }));
  expect((await Promise.allSettled(puts)).map(({ status }) => status)).toContain("rejected");
  await other;
  expect((await shard.search({ limit: 9, offset: 0, sortBy: "thread_id", sortOrder: "asc" }))[0]?.metadata).toEqual({
    revision: 9,
  });
  await expect(shard.put(row(1, { revision: 8 }))).rejects.toThrow(/newer row/);
  await shard.remove([row(1, { revision: 7 })]);
  expect(await shard.count({})).toBe(2);
  await shard.remove([row(1, { revision: 9 })]);
  expect(await shard.count({})).toBe(1);
});

it("says so to each caller when a write that several share fails", async () => {
  const { workspaceId } = await newCaller();
  const stub = env.THREAD_INDEX.getByName(`${workspaceId}:0`);
  await stub.put(row(0));
  const statuses = await runInDurableObject(stub, async (index, { storage }) => {
    const writes = { count: 0 };
    const isLater = (statement: string) => statement.startsWith("INSERT INTO threads") && (writes.count += 1) > 1;
    const restore = failStorage(storage.sql, { object: isLater });
    const first = index.put(row(1));
    // While the first write is synchronised, the others come, and share the next transaction.
    while (writes.count === 0) await Promise.resolve();
    const others = await Promise.allSettled([2, 3, 4, 5].map(async (n) => index.put(row(n))));
    await first;
    restore();
    return others.map(({ status }) => status);
  });
  expect(statuses).toEqual(["rejected", "rejected", "rejected", "rejected"]);
  await stub.put(row(6));
  expect(await stub.count({})).toBe(3);
});

it("writes two rows for a change: the thread's, and that of the index of the times of change", async () => {
  const { workspaceId } = await newCaller();
  const shard = indexShard(env, workspaceId, 0);
  await shard.put(row(1));
  const stub = env.THREAD_INDEX.getByName(`${workspaceId}:0`);
  const written = await runInDurableObject(stub, (index, { storage }) =>
    countRowsWritten(storage.sql, () => index.put(row(1, { revision: 2, updatedAt: 5_000 }))),
  );
  expect(written).toBe(2);
});

it("writes no row for one that says the same, and refuses an older one that comes after it", async () => {
  const { workspaceId } = await newCaller();
  await indexShard(env, workspaceId, 0).put(row(1));
  const stub = env.THREAD_INDEX.getByName(`${workspaceId}:0`);
  const late = await runInDurableObject(stub, async (index, { storage }) => {
    expect(await countRowsWritten(storage.sql, () => index.put(row(1, { revision: 3 })))).toBe(0);
    const older = row(1, { revision: 2, status: "busy" });
    return index.put(older).then(
      () => "written",
      (error: Error) => error.message,
    );
  });
  expect(late).toContain("newer row");
  const shard = indexShard(env, workspaceId, 0);
  // The row was read before its thread sent it again.
  await shard.remove([{ id: row(1).id, revision: 1 }]);
  expect(await shard.count({})).toBe(1);
  await shard.put(row(1, { revision: 4, status: "busy" }));
  await shard.remove([{ id: row(1).id }]);
  // A thread of the same id that is made after a deletion.
  await shard.put(row(1, { revision: 1 }));
  expect(await shard.count({})).toBe(1);
});

it("refuses an older row that shares a transaction with one that says the same", async () => {
  const { workspaceId } = await newCaller();
  const shard = indexShard(env, workspaceId, 0);
  await shard.put(row(1));
  const stub = env.THREAD_INDEX.getByName(`${workspaceId}:0`);
  await runInDurableObject(stub, async (index) => {
    const same = row(1, { revision: 3 });
    await Promise.allSettled([index.put(same), index.put(row(1, { revision: 2, status: "busy" }))]);
  });
  expect(await shard.countByStatus()).toEqual({ [row(1).status]: 1 });
});

it("finds threads with an open run", async () => {
  const { workspaceId } = await newCaller();
  const shard = indexShard(env, workspaceId, 0);
  for (const [n, more] of [
    {},
    { open: true },
    { open: true, hasValues: false },
    { status: "busy", open: true },
  ].entries())
    await shard.put(row(n, more));
  const findIds = async () => (await shard.ids({ open: true }, 9, 0)).map(({ id }) => Number(id.slice(-12)));
  expect(await findIds()).toEqual([1, 2, 3]);
  const page = { limit: 9, offset: 0, sortBy: "thread_id", sortOrder: "asc" } as const;
  const rows = await shard.search(page);
  expect(rows.map(({ open }) => open)).toEqual([false, true, true, true]);
  expect(rows.map(({ hasValues }) => hasValues)).toEqual([true, true, false, true]);
  await shard.put(row(1, { revision: 2 }));
  expect(await findIds()).toEqual([2, 3]);
});

it("takes the time of creation of a thread that follows a deleted one of its id", async () => {
  const { workspaceId } = await newCaller();
  const shard = indexShard(env, workspaceId, 0);
  const created = async () =>
    (await shard.search({ limit: 1, offset: 0, sortBy: "created_at", sortOrder: "asc" }))[0]?.createdAt;
  await shard.put(row(1, { revision: 5, createdAt: 1_000 }));
  await shard.put(row(1, { revision: 6, createdAt: 2_000 }));
  expect(await created()).toBe(2_000);
  await expect(shard.put(row(1, { revision: 4, createdAt: 3_000 }))).rejects.toThrow(/newer row/);
  expect(await created()).toBe(2_000);
});

it("stores nothing for a workspace without threads", async () => {
  const caller = await newCaller();
  expect(await search(caller, {})).toEqual([]);
  expect(await count(caller, {})).toBe(0);
  const stub = env.THREAD_INDEX.getByName(`${caller.workspaceId}:0`);
  const tables = await runInDurableObject(stub, (_, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
  );
  expect(tables).toEqual([]);
});

it("finds rare values in every order, past the threads that it reads first", async () => {
  const { workspaceId } = await newCaller();
  const shard = indexShard(env, workspaceId, 0);
  const rows = Array.from({ length: 230 }, (_, n) =>
    row(n, { metadata: { rare: n < 7, owner: n % 2 }, createdAt: n, updatedAt: 1_000 - n, stateUpdatedAt: n % 3 }),
  );
  await Promise.all(rows.map(async (one) => shard.put(one)));
  const sorts = {
    thread_id: ({ id }: IndexRow) => id,
    status: ({ status }: IndexRow) => status,
    created_at: ({ createdAt }: IndexRow) => createdAt,
    updated_at: ({ updatedAt }: IndexRow) => updatedAt,
    state_updated_at: ({ stateUpdatedAt }: IndexRow) => stateUpdatedAt,
  };
  const filters = [{}, { metadata: { rare: true } }, { metadata: { owner: 1 } }, { status: "error" as const }];
  for (const [sortBy, by] of Object.entries(sorts) as [keyof typeof sorts, (one: IndexRow) => string | number][])
    for (const filter of filters)
      for (const sortOrder of ["asc", "desc"] as const)
        for (const offset of [0, 3, 150]) {
          const { rare, owner } = (filter.metadata ?? {}) as { rare?: boolean; owner?: number };
          const expected = rows
            .filter(({ metadata }) => rare === undefined || metadata.rare === rare)
            .filter(({ metadata }) => owner === undefined || metadata.owner === owner)
            .filter(({ status }) => filter.status === undefined || status === filter.status)
            .sort((a, b) => (by(a) === by(b) ? (a.id < b.id ? -1 : 1) : by(a) < by(b) ? -1 : 1));
          if (sortOrder === "desc") expected.reverse();
          const found = await shard.search({ ...filter, limit: 5, offset, sortBy, sortOrder });
          expect(found.map(({ id }) => id)).toEqual(expected.slice(offset, offset + 5).map(({ id }) => id));
        }
});

it("searches all threads in an index without states", async () => {
  const { workspaceId } = await newCaller();
  const shard = indexShard(env, workspaceId, 0);
  await shard.put(row(1));
  const stub = env.THREAD_INDEX.getByName(`${workspaceId}:0`);
  const filter = { metadata: { n: 2 }, status: "idle" as const, open: true as const };
  const plans = await runInDurableObject(stub, async (index, { storage }) => {
    const statements = await recordStatements(storage.sql, async () => {
      await index.search({ ...filter, limit: 9, offset: 0, sortBy: "created_at", sortOrder: "desc" });
      await index.count(filter);
      await index.ids(filter, 9, 0);
    });
    return statements
      .filter(([statement]) => statement.includes("json_each"))
      .map(([statement, ...params]) =>
        JSON.stringify(storage.sql.exec(`EXPLAIN QUERY PLAN ${statement}`, ...params).toArray()),
      );
  });
  // The first searches the newest threads only.
  expect(plans).toHaveLength(4);
  for (const plan of plans.slice(1)) expect(plan).toContain("SCAN threads USING COVERING INDEX threads_updated");
});
