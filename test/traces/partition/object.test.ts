/** What a partition stores when nothing is in it, and that its alarm outlives what it calls. */
import { env, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { database } from "../../../src/db/client.ts";
import { deleteRulesOfProject } from "../../../src/automation/rules/store.ts";
import { destroyProjects } from "../../../src/traces/delete.ts";
import type { TracePartition } from "../../../src/traces/partition/object.ts";
import { selectionCondition } from "../../../src/traces/partition/read/selection.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import {
  PAYLOAD_FIELDS,
  type PartitionIdentity,
  type RunWrite,
  type StoredFeedback,
} from "../../../src/traces/types.ts";
import { listPartitions } from "../../../src/traces/projects/partitions.ts";
import { newCaller } from "../../support/caller.ts";
import { DAY, makeProject, NOON, projectId, runParts, sendMultipart, sentRun, uuid7 } from "../../support/traces.ts";

async function newPartition(day = DAY) {
  const identity: PartitionIdentity = {
    workspaceId: crypto.randomUUID(),
    projectId: crypto.randomUUID(),
    day,
    shard: 0,
    traceTier: "longlived",
  };
  await makeProject(identity);
  return { identity, ...openPartition(identity) };
}

function openPartition({ workspaceId, projectId, day }: Omit<PartitionIdentity, "traceTier">) {
  const stub = tracePartition(env, workspaceId, { projectId, day, shard: 0 });
  const object = env.TRACE_PARTITION.getByName(`${workspaceId}/${projectId}/${day}`);
  const tables = () =>
    runInDurableObject(object, (_, { storage }) =>
      storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
        .toArray()
        .map(({ name }) => name),
    );
  const alarm = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm());
  return { stub, object, tables, alarm };
}

const write = (more: Partial<RunWrite> = {}): RunWrite => ({
  kind: "post",
  id: uuid7(NOON),
  start_time: NOON,
  is_root: true,
  ...more,
});

const feedback = (run: string): StoredFeedback => ({
  id: crypto.randomUUID(),
  run_id: run,
  trace_id: run,
  session_id: crypto.randomUUID(),
  key: "k",
  score: 1,
  value: null,
  comment: null,
  correction: null,
  error: false,
  feedback_source: { type: "api" },
  feedback_config: null,
  feedback_group_id: null,
  comparative_experiment_id: null,
  extra: null,
  created_at: new Date().toISOString(),
  modified_at: new Date().toISOString(),
});

const read = { order: "asc" as const, after: null, limit: 10, maxBytes: 1_000_000, payloads: [...PAYLOAD_FIELDS] };
const page = { after: null, startTime: 0, endTime: NOON * 2, limit: 10, maxBytes: 1_000_000, fields: ["id" as const] };

describe("a partition that holds nothing", () => {
  it("stores nothing, with any read", async () => {
    const { stub, object, tables, identity } = await newPartition();
    const id = crypto.randomUUID();
    expect((await stub.lookUp([id])).held).toEqual([]);
    expect(await stub.query(read)).toEqual({ runs: [], done: true });
    expect(await stub.readPage(page)).toBeUndefined();
    expect(await stub.crossing()).toEqual([]);
    expect(await stub.tracesPassing([id], { filter: 'eq(name, "x")', root: true })).toEqual([]);
    expect(await stub.stats({})).toMatchObject({ run_count: 0, latencies: new Map(), feedback: {} });
    expect(await stub.threads({})).toEqual([]);
    expect(await stub.runTimes()).toMatchObject({ statuses: {}, duration: { count: 0 } });
    expect(await stub.children(id)).toEqual({ direct: [], all: [] });
    expect(await stub.getFeedback([id])).toEqual([]);
    expect(await stub.deleteFeedback(id)).toBe(false);
    await stub.destroy(identity);
    await runInDurableObject(object, (partition) => partition.alarm());
    expect(await tables()).toEqual([]);
  });

  it("stores nothing after it was destroyed, and can be written again", async () => {
    const { stub, tables, alarm, identity } = await newPartition();
    const first = write();
    await stub.upsert(identity, [first]);
    await stub.putFeedback(identity, feedback(first.id));
    expect(await tables()).toContain("runs");
    await stub.destroy(identity);
    expect(await tables()).toEqual([]);
    expect(await alarm()).toBeNull();
    expect(await stub.query(read)).toEqual({ runs: [], done: true });
    expect((await stub.lookUp([first.id])).held).toEqual([]);
    expect(await tables()).toEqual([]);
    const second = write();
    await stub.upsert(identity, [second]);
    expect((await stub.query(read)).runs.map(({ id }) => id)).toEqual([second.id]);
  });

  it("stores nothing when its first write fails", async () => {
    const { stub, object, tables, identity } = await newPartition();
    const odd = { ...write(), tags: 1n } as unknown as RunWrite;
    await runInDurableObject(object, async (partition) => {
      await expect(partition.upsert(identity, [odd])).rejects.toThrow(/./);
    });
    expect(await tables()).toEqual([]);
    await stub.upsert(identity, [write()]);
    expect((await stub.query(read)).runs).toHaveLength(1);
  });
});

describe("the registration of a partition", () => {
  it("comes before its first write, so that no export misses an acknowledged run", async () => {
    const { stub, object, tables, identity } = await newPartition();
    const prepare = vi.spyOn(env.DB, "prepare").mockImplementation(() => {
      throw new Error("D1 is away");
    });
    const first = write();
    await runInDurableObject(object, async (partition) => {
      await expect(partition.upsert(identity, [first])).rejects.toThrow("D1 is away");
      await expect(partition.putFeedback(identity, feedback(first.id))).rejects.toThrow("D1 is away");
    });
    prepare.mockRestore();
    // Nothing was acknowledged, and nothing is stored.
    expect(await tables()).toEqual([]);

    await stub.upsert(identity, [first]);
    const { workspaceId, projectId, day } = identity;
    const [row] = await listPartitions(database(env.DB), workspaceId, projectId, day, day);
    expect(row).toMatchObject({ rows: 1 });
  });
});

describe("what a deleted project leaves", () => {
  it("is nothing: in the objects, in R2 and in D1", async () => {
    const caller = await newCaller();
    const run = sentRun(NOON, { inputs: { text: "x".repeat(300_000) } });
    const parts = [...runParts("post", run), { name: `attachment.${run.id}.a`, type: "text/plain", data: "hello" }];
    await sendMultipart(caller, parts);
    await caller.fetch("/feedback", { body: { run_id: run.id, key: "mood", score: 1 } });
    // Feedback whose run never comes has a day of its own.
    const session_id = await projectId(caller);
    const lone = { run_id: crypto.randomUUID(), session_id, start_time: "2026-10-01T00:00:00Z", key: "mood", score: 1 };
    expect((await caller.fetch("/feedback", { body: lone })).status).toBe(200);
    const { workspaceId } = caller;
    const days = [DAY, "2026-10-01"].map((day) => openPartition({ workspaceId, projectId: session_id, day, shard: 0 }));
    for (const { tables, alarm } of days) {
      expect(await tables()).toContain("feedback");
      expect(await alarm()).not.toBeNull();
    }

    expect((await caller.fetch(`/sessions/${session_id}`, { method: "DELETE" })).status).toBe(200);
    for (const { tables } of days) expect(await tables()).toEqual([]);
    expect((await env.BLOBS.list({ prefix: `traces/${workspaceId}/` })).objects).toEqual([]);
    for (const table of ["projects", "trace_partitions", "feedback_places"]) {
      const rows = await env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE workspace_id = ?`)
        .bind(workspaceId)
        .first("n");
      expect([table, rows]).toEqual([table, 0]);
    }
  });
});

it("a project of many days is deleted by several requests, each of a bounded number of days", async () => {
  const caller = await newCaller();
  await sendMultipart(caller, runParts("post", sentRun(NOON)));
  const id = await projectId(caller);
  const days = Array.from({ length: 25 }, (_, i) => new Date(Date.UTC(2001, 0, 1 + i)).toISOString().slice(0, 10));
  await env.DB.prepare(
    `INSERT INTO trace_partitions (workspace_id, project_id, day, rows, bytes, last_run_start_time)
     SELECT ?, ?, value, 1, 1, 1 FROM json_each(?)`,
  )
    .bind(caller.workspaceId, id, JSON.stringify(days))
    .run();
  const left = () =>
    env.DB.prepare("SELECT count(*) AS n FROM trace_partitions WHERE project_id = ?").bind(id).first("n");
  for (const rest of [16, 6]) {
    await expect(destroyProjects(env, caller.workspaceId, [id], deleteRulesOfProject, 10)).rejects.toMatchObject({
      status: 503,
      more: { headers: { "retry-after": "1" } },
    });
    expect(await left()).toBe(rest);
    expect((await caller.fetch(`/sessions/${id}`)).status).toBe(200);
  }
  expect((await caller.fetch(`/sessions/${id}`, { method: "DELETE" })).status).toBe(200);
  expect(await left()).toBe(0);
  expect((await caller.fetch(`/sessions/${id}`)).status).toBe(404);
});

describe("traces with a failed run", () => {
  it("are found in the index of failed runs, without a read of all runs", async () => {
    const { stub, object, identity } = await newPartition();
    await stub.upsert(identity, [write()]);
    const plan = await runInDurableObject(object, (_, { storage: { sql } }) => {
      const condition = selectionCondition(sql, identity, { treeFilter: 'eq(status, "error")' });
      const query = `EXPLAIN QUERY PLAN SELECT r.n FROM runs r WHERE ${condition.sql}`;
      return sql.exec<{ detail: string }>(query, ...condition.values).toArray();
    });
    const details = plan.map(({ detail }) => detail).join("\n");
    expect(details).toMatch(/tree USING COVERING INDEX runs_failed/);
  });
});

describe("the alarm", () => {
  beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
  afterEach(() => void vi.restoreAllMocks());
  const throwDown = (): never => {
    throw new Error("no connection");
  };
  const MINUTE = 60_000;

  /** Calls the alarm as the platform does, with bindings of its environment replaced. */
  async function ring(object: DurableObjectStub<TracePartition>, bindings: Partial<Env> = {}): Promise<number | null> {
    return runInDurableObject(object, async (partition, { storage }) => {
      await storage.deleteAlarm();
      const own = partition as unknown as { env: Env };
      const before = own.env;
      own.env = { ...before, ...bindings };
      try {
        await partition.alarm();
      } finally {
        own.env = before;
      }
      return storage.getAlarm();
    });
  }

  const setWritten = (object: DurableObjectStub<TracePartition>, at: number) =>
    runInDurableObject(object, (_, { storage }) =>
      storage.sql.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('written', ?)", String(at)),
    );

  it("comes again, later each time, while D1 is down, and then registers the day", async () => {
    const { stub, object, identity } = await newPartition();
    await stub.upsert(identity, [write()]);
    await env.DB.prepare("DELETE FROM trace_partitions WHERE workspace_id = ?").bind(identity.workspaceId).run();
    await stub.upsert(identity, [write()]);
    const DB = { prepare: throwDown, batch: throwDown } as unknown as D1Database;
    for (const [ago, least, most] of [
      [0, 9_000, 11_000],
      [5 * MINUTE, 4 * MINUTE, 6 * MINUTE],
      [48 * 60 * MINUTE, 59 * MINUTE, 61 * MINUTE],
    ] as const) {
      await setWritten(object, Date.now() - ago);
      const wait = (await ring(object, { DB }))! - Date.now();
      expect(wait).toBeGreaterThan(least);
      expect(wait).toBeLessThan(most);
    }
    await ring(object);
    const row = await env.DB.prepare("SELECT rows FROM trace_partitions WHERE workspace_id = ?")
      .bind(identity.workspaceId)
      .first();
    expect(row).toEqual({ rows: 2 });
  });

  it("ends a day whose time is over, however often R2 fails before", async () => {
    const { stub, object, tables, identity } = await newPartition("2019-03-04");
    const start = Date.UTC(2019, 2, 4) * 1000;
    await stub.upsert(identity, [write({ id: uuid7(start), start_time: start })]);
    await setWritten(object, 0);
    const BLOBS = { list: throwDown } as unknown as R2Bucket;
    for (let attempt = 0; attempt < 10; attempt++) expect(await ring(object, { BLOBS })).toBeGreaterThan(Date.now());
    expect(await tables()).toContain("runs");
    expect(await ring(object)).toBeNull();
    expect(await tables()).toEqual([]);
  });
});
