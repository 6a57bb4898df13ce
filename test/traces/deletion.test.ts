/** Deleting traces and threads. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { database } from "../../src/db/client.ts";
import { deleteFeedbackLocationsById } from "../../src/traces/review/feedback/store.ts";
import { RUN_COLUMNS } from "../../src/traces/partition/store/tables.ts";
import { tracePartition } from "../../src/traces/stub.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";
import { ask } from "../support/examples.ts";
import {
  DAY,
  NOON,
  projectId,
  runParts,
  type Sent,
  sendMultipart,
  sendWithAttachments,
  sentRun,
  readStoredRuns,
  uuid7,
} from "../support/traces.ts";
import { itThorough } from "../support/thorough-test.ts";

const DAY_MICROS = 86_400_000_000;
const BIG = "x".repeat(300_000);
let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const sendRuns = async (runs: Sent[], by = caller) => sendWithAttachments(by, runs);

/** A trace of two runs over midnight, with payloads and attachments in R2. */
function trace(project: string, thread: string, inputs: unknown = { big: `${thread} ${BIG}` }) {
  const more = { session_name: project, extra: { metadata: { thread_id: thread } }, inputs };
  const root = sentRun(NOON, more);
  return { root, child: sentRun(NOON + DAY_MICROS, more, root) };
}

/** A key of the caller's workspace that only reads. */
async function createReader({ workspaceId }: Caller): Promise<Pick<Caller, "fetch">> {
  const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": workspaceId };
  const made = await send("/api/v1/api-keys", { body: { name: "reader", scopes: ["read"] }, headers });
  const { key } = await made.json<{ key: string }>();
  return { fetch: async (path, options = {}) => send(path, { ...options, headers: { "x-api-key": key } }) };
}

const keys = async (project: string) =>
  (await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/${await projectId(caller, project)}/` })).objects.map(
    ({ key }) => key,
  );
const days = [DAY, "2026-11-21"];
const listStored = async (project: string) =>
  (await Promise.all(days.map(async (day) => readStoredRuns(caller, project, day))))
    .flat()
    .map(({ id }) => id)
    .sort();
const stub = (project: string, day = DAY) =>
  env.TRACE_PARTITION.get(env.TRACE_PARTITION.idFromName(`${caller.workspaceId}/${project}/${day}`));
/** Deletes the payloads of deleted traces, as if their time had passed. */
async function deleteDue(project: string): Promise<void> {
  for (const day of days) {
    await runInDurableObject(stub(project, day), (_, { storage }) => {
      const tables = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'doomed'").toArray();
      if (tables.length > 0) storage.sql.exec("UPDATE doomed SET due = 0");
    });
    await runDurableObjectAlarm(stub(project, day));
  }
}

describe("a payload in R2", () => {
  it("is deleted when a patch has replaced it, unless another run has it", async () => {
    const first = sentRun(NOON, {
      session_name: "replaced",
      inputs: { big: `1 ${BIG}` },
      outputs: { big: `2 ${BIG}` },
    });
    const other = sentRun(NOON + 1, { session_name: "replaced", inputs: first["inputs"] });
    const patch = { ...first, inputs: { big: `3 ${BIG}` }, outputs: { small: true } };
    await sendMultipart(
      caller,
      [first, other].flatMap((run) => runParts("post", run)),
    );
    await sendMultipart(caller, runParts("patch", patch));
    // The patch wins over the post, whichever comes later.
    await sendMultipart(caller, runParts("post", { ...first, inputs: { big: `4 ${BIG}` } }));
    const session_id = await projectId(caller, "replaced");
    expect(await keys("replaced")).toHaveLength(4);
    await deleteDue(session_id);
    expect(await keys("replaced")).toHaveLength(2);
    const read = async ({ id }: Sent) => (await ask<{ inputs: unknown }>(caller, `/runs/${id}`)).inputs;
    expect(await read(first)).toEqual(patch.inputs);
    expect(await read(other)).toEqual(first["inputs"]);
  });
});

describe("deleting a trace", () => {
  it("removes its runs, feedback, link and objects on every day, and nothing else", async () => {
    const [gone, left] = [trace("delete", "t-1"), trace("delete", "t-2")];
    // The same payload in another trace of the day: one object in R2.
    const shared = sentRun(NOON + 5, { session_name: "delete", inputs: gone.root["inputs"] });
    await sendRuns([gone.root, gone.child, left.root, left.child, shared]);
    const session_id = await projectId(caller, "delete");
    const feedback = await ask<{ id: string }>(caller, "/feedback", {
      body: { run_id: gone.root.id, key: "mood", score: 1 },
    });
    const { share_token } = await ask<{ share_token: string }>(caller, `/runs/${gone.root.id}/share`, {
      method: "PUT",
      body: {},
    });
    expect(await keys("delete")).toHaveLength(4 + 5);

    const answer = await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [gone.root.id] } });
    expect(answer).toEqual({ message: "Traces deleted", traces: 1, runs: 2 });
    expect(await listStored("delete")).toEqual([left.root.id, left.child.id, shared.id].sort());
    expect(await keys("delete")).toHaveLength(4 + 3);
    await deleteDue(session_id);
    // Its attachments and its payload of the second day; that of the first day is another run's too.
    expect(await keys("delete")).toHaveLength(3 + 3);
    expect((await caller.fetch(`/feedback/${feedback.id}`)).status).toBe(404);
    expect(await ask(caller, `/feedback?run=${gone.root.id}`)).toEqual([]);
    expect((await send(`/public/${share_token}/runs`)).status).toBe(404);
    const noted = await env.DB.prepare("SELECT trace_id FROM trace_deletions WHERE project_id = ?")
      .bind(session_id)
      .all();
    expect(noted.results).toEqual([{ trace_id: gone.root.id }]);
    expect(await ask(caller, "/runs/stats", { body: { session: [session_id] } })).toMatchObject({ run_count: 3 });
    // Again: nothing is left to do.
    expect(
      await ask(caller, `/api/v2/traces/${gone.root.id}?project_id=${session_id}`, { method: "DELETE" }),
    ).toMatchObject({ runs: 0 });
  });

  it("restores nothing of it", async () => {
    const { root, child } = trace("late", "t-1");
    await sendRuns([root, child]);
    const session_id = await projectId(caller, "late");
    await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [root.id] } });
    const bare = { id: child.id, session_name: "late", start_time: child.start_time, end_time: child.start_time };
    await sendMultipart(caller, [
      ...runParts("patch", { ...root, outputs: { late: true } }),
      ...runParts("patch", bare),
    ]);
    expect(await listStored("late")).toEqual([]);
  });

  it("restores nothing of it by a new day, by a new shard or by its parent", async () => {
    const { root, child } = trace("again", "t-1", {});
    await sendRuns([root]);
    const session_id = await projectId(caller, "again");
    await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [root.id] } });
    // The first run of its day.
    await sendRuns([child]);
    const bare = { ...sentRun(NOON + 7, { session_name: "again" }), parent_run_id: root.id };
    const { trace_id: _, dotted_order: __, ...untold } = bare;
    await sendMultipart(caller, runParts("post", untold));
    expect(await listStored("again")).toEqual([]);

    const place = (shard: number) => ({ projectId: session_id, day: DAY, shard });
    const shard = (n: number) => tracePartition(env, caller.workspaceId, place(n));
    const identity = { workspaceId: caller.workspaceId, ...place(0), traceTier: "longlived" as const };
    expect(await shard(0).holds(identity, 2, [root.id, uuid7(NOON)], [root.id, uuid7(NOON)])).toEqual([root.id]);
    const late = [{ kind: "patch" as const, id: root.id, tags: ["late"] }];
    expect(await shard(0).upsert(identity, late)).toEqual({ shards: 2, left: [] });
    expect(await listStored("again")).toEqual([]);
  });

  it("ends in R2 when the object was stopped between its commit and the deletion there", async () => {
    await sendRuns([trace("crash", "t-1").root]);
    const object = stub(await projectId(caller, "crash"));
    const [key] = await keys("crash");
    await runInDurableObject(
      object,
      (_, { storage }) => void storage.sql.exec("INSERT INTO doomed (key, due) VALUES (?, 0)", key!),
    );
    await runDurableObjectAlarm(object);
    expect(await keys("crash")).toHaveLength(1);
  });

  it("removes the objects of writes that were dropped because they came later", async () => {
    const { root } = trace("dropped", "t-1");
    await sendRuns([root]);
    const session_id = await projectId(caller, "dropped");
    await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [root.id] } });
    await sendRuns([{ ...root, outputs: { big: `late ${BIG}` } }]);
    expect(await keys("dropped")).toHaveLength(3);
    await deleteDue(session_id);
    expect(await keys("dropped")).toEqual([]);
  });

  it("keeps a payload that a later run has too", async () => {
    const { root } = trace("reused", "t-1");
    await sendRuns([root]);
    const session_id = await projectId(caller, "reused");
    await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [root.id] } });
    const payloads = async () => (await keys("reused")).filter((key) => key.includes("/payloads/"));
    expect(await payloads()).toHaveLength(1);
    const later = sentRun(NOON + 9, { session_name: "reused", inputs: root["inputs"] });
    await sendRuns([later]);
    await deleteDue(session_id);
    expect(await payloads()).toHaveLength(1);
    await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [later.id] } });
    await runDurableObjectAlarm(stub(session_id));
    const alarm = await runInDurableObject(stub(session_id), (_, { storage }) => storage.getAlarm());
    expect(alarm).toBeLessThanOrEqual(Date.now() + 600_000);
    await deleteDue(session_id);
    expect(await keys("reused")).toEqual([]);
  });

  itThorough("deletes a trace whose list of runs is longer than a bound value can be", async () => {
    const { root } = trace("many", "t-1", {});
    await sendRuns([root]);
    const session_id = await projectId(caller, "many");
    await runInDurableObject(stub(session_id), (_, { storage }) => {
      const numbers = "WITH RECURSIVE s (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < 52000)";
      const columns = RUN_COLUMNS.filter((name) => name !== "n" && name !== "id").join(", ");
      storage.sql.exec(
        `${numbers} INSERT INTO runs (n, id, ${columns}) SELECT i, id || i, ${columns} FROM s, runs WHERE n = 1`,
      );
      storage.sql.exec(`${numbers} INSERT INTO payloads (n) SELECT i FROM s`);
    });
    const body = { session_id, trace_ids: [root.id] };
    expect(await ask(caller, "/runs/delete", { body })).toMatchObject({ runs: 52_000 });
    expect(await listStored("many")).toEqual([]);
  });

  itThorough("deletes a thread whose list of traces, or of feedback, is longer than a bound value can be", async () => {
    const { root } = trace("long", "t-1", {});
    await sendRuns([root]);
    const session_id = await projectId(caller, "long");
    await runInDurableObject(stub(session_id), (_, { storage }) => {
      const numbers = "WITH RECURSIVE s (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < 52000)";
      const columns = RUN_COLUMNS.filter((name) => !["n", "id", "trace_id"].includes(name)).join(", ");
      storage.sql.exec(
        `${numbers} INSERT INTO runs (n, id, trace_id, ${columns}) SELECT i, id || i, id || i, ${columns} FROM s, runs WHERE n = 1`,
      );
      storage.sql.exec(`${numbers} INSERT INTO payloads (n) SELECT i FROM s`);
    });
    const body = { session_id, thread_ids: ["t-1"] };
    expect(await ask(caller, "/runs/delete", { body })).toMatchObject({ traces: 52_000, runs: 52_000 });
    const feedback = await ask<{ id: string }>(caller, "/feedback", { body: { session_id, key: "mood", score: 1 } });
    const ids = Array.from({ length: 60_000 }, () => crypto.randomUUID());
    await deleteFeedbackLocationsById(database(env.DB), caller.workspaceId, [...ids, feedback.id]);
    expect((await caller.fetch(`/feedback/${feedback.id}`)).status).toBe(404);
  });

  it("leaves no id of a run whose start had moved", async () => {
    const project = "moved";
    const [gone, kept] = [sentRun(NOON, { session_name: project }), sentRun(NOON + 1, { session_name: project })];
    await sendRuns([gone, kept]);
    const start_time = "2026-11-20T18:00:00.000000Z";
    for (const run of [gone, kept]) await sendMultipart(caller, runParts("patch", { ...run, start_time }));
    const session_id = await projectId(caller, project);
    expect((await caller.fetch("/runs/delete", { body: { session_id, trace_ids: [gone.id] } })).status).toBe(200);
    const moves = await runInDurableObject(
      stub(session_id),
      (_, { storage }) =>
        storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = 'moves'").one().value,
    );
    expect(moves).not.toContain(gone.id);
    expect(moves).toContain(kept.id);
  });

  it("deletes the traces of a thread", async () => {
    const [gone, left] = [trace("threads", "t/1", {}), trace("threads", "t-2", {})];
    await sendRuns([gone.root, gone.child, left.root, left.child]);
    const session_id = await projectId(caller, "threads");
    const path = `/api/v2/threads/${encodeURIComponent("t/1")}?project_id=${session_id}`;
    expect(await ask(caller, path, { method: "DELETE" })).toMatchObject({ traces: 1, runs: 2 });
    expect(await listStored("threads")).toEqual([left.root.id, left.child.id].sort());
    expect(await ask(caller, "/runs/delete", { body: { session_id, thread_ids: ["t-2"] } })).toMatchObject({ runs: 2 });
  });

  it("is refused without a key, with a wrong one, for another workspace, and with a key that only reads", async () => {
    const { root } = trace("guarded", "t-1", {});
    await sendRuns([root]);
    const session_id = await projectId(caller, "guarded");
    const body = { session_id, trace_ids: [root.id] };
    const paths = ["/runs/delete", "/api/v1/runs/delete"];
    const other = await newCaller();
    const reader = await createReader(caller);
    for (const path of paths) {
      expect((await send(path, { body })).status).toBe(401);
      expect((await send(path, { body, headers: { "x-api-key": "lsv2_wrong" } })).status).toBe(401);
      expect((await other.fetch(path, { body })).status).toBe(404);
      expect((await reader.fetch(path, { body })).status).toBe(403);
    }
    for (const path of [`/api/v2/traces/${root.id}`, "/api/v2/threads/t-1"]) {
      const whole = `${path}?project_id=${session_id}`;
      expect((await send(whole, { method: "DELETE" })).status).toBe(401);
      expect((await other.fetch(whole, { method: "DELETE" })).status).toBe(404);
      expect((await reader.fetch(whole, { method: "DELETE" })).status).toBe(403);
    }
    expect((await other.fetch(`/sessions/${session_id}`, { method: "PATCH", body: { legal_hold: true } })).status).toBe(
      404,
    );
    expect(
      (await reader.fetch(`/sessions/${session_id}`, { method: "PATCH", body: { retention_days: 1 } })).status,
    ).toBe(403);
    expect(await listStored("guarded")).toEqual([root.id]);
    expect((await caller.fetch("/runs/delete", { body: { session_id } })).status).toBe(422);
  });
});
