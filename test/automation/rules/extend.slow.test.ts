/** Rules that keep traces for longer than their project does. */
import { countCalls, database } from "../../../src/db/client.ts";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { takeParts } from "../../../src/automation/rules/store.ts";
import { workPart } from "../../../src/automation/rules/work.ts";
import { extendTraces } from "../../../src/traces/projects/retention.ts";
import { loadKept } from "../../../src/traces/partition/retention.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import { dayBounds } from "../../../src/traces/time.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { countRowsWritten } from "../../support/rows-written.ts";
import { newRule, type Rule } from "../../support/rules.ts";
import {
  projectId,
  runParts,
  type Sent,
  sendWithAttachments,
  sendMultipart,
  sentRun,
  readStoredRuns,
} from "../../support/traces.ts";

const MIDNIGHT = Date.UTC(2026, 4, 2) * 1000;
const [FIRST, SECOND, THIRD] = ["2026-05-01", "2026-05-02", "2026-05-03"] as const;
const DAY_MS = 86_400_000;
/** Of a payload that is in R2. */
const LARGE = "x".repeat(300_000);

let caller: Caller;
let project: string;
beforeEach(async () => {
  caller = await newCaller();
  await sendMultipart(caller, runParts("post", sentRun(MIDNIGHT - 2 * 86_400_000_000, { name: "first" })));
  project = await projectId(caller);
  await ask(caller, `/sessions/${project}`, { method: "PATCH", body: { trace_tier: "shortlived" } });
});

const storage = (day: string) => runInDurableObject(stub(day), (_, { storage }) => storage.sql);
const stub = (day: string) => env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${project}/${day}`);

async function work({ id }: Rule, ...days: string[]): Promise<void> {
  for (const day of days) await runDurableObjectAlarm(stub(day));
  for (const part of await takeParts(database(env.DB), Date.now() + 60_000, 1_000))
    if (part.ruleId === id) while (await workPart(countCalls(env), part));
}

/** As if the last write of the day were so many days ago, and its alarm went off until nothing is left to do. */
async function age(day: string, past: number): Promise<void> {
  await runInDurableObject(stub(day), async (_, { storage }) => {
    const known = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'meta'").toArray().length > 0;
    if (!known) return;
    const written = String(Date.now() - past * DAY_MS);
    storage.sql.exec("UPDATE meta SET value = ? WHERE name = 'written'", written);
    // As if the day were as long ago.
    const { value } = storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = 'identity'").one();
    if (past > 300)
      storage.sql.exec(
        "UPDATE meta SET value = ? WHERE name = 'identity'",
        value.replace(/"day":"2026/, '"day":"2020'),
      );
    await storage.setAlarm(Date.now());
  });
  await runDurableObjectAlarm(stub(day));
}

const send = (...runs: Sent[]) => sendWithAttachments(caller, runs);
const createEnded = (start: number, more: Record<string, unknown> = {}, parent?: Sent) =>
  sentRun(start, { end_time: "2026-05-03T12:00:00Z", inputs: { q: LARGE }, outputs: { a: 1 }, ...more }, parent);
const status = async ({ id }: Sent) => (await caller.fetch(`/runs/${id}`)).status;
const rate = ({ id }: Sent) =>
  ask<{ id: string }>(caller, "/feedback", { body: { run_id: id, key: "mood", score: 1 } });
const objects = async (day: string) =>
  (await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/${project}/${day}` })).objects.length;
const names = async (more: object = {}) => {
  const body = { session: [project], select: ["name", "trace_tier"], start_time: "2026-05-01T00:00:00Z", ...more };
  const { runs } = await ask<{ runs: { name: string; trace_tier: string }[] }>(caller, "/runs/query", { body });
  return runs.map(({ name, trace_tier }) => `${name} ${trace_tier}`).toSorted();
};

describe("a rule that extends", () => {
  it("keeps what it matches, with everything of it, when the rest of the day is deleted", async () => {
    const rule = await newRule(caller, { extend_only: true, filter: 'eq(name, "bad")' });
    const [good, root] = [
      createEnded(MIDNIGHT - 5_000_000, { name: "good" }),
      createEnded(MIDNIGHT - 4_000_000, { name: "root" }),
    ];
    const bad = createEnded(MIDNIGHT - 3_000_000, { name: "bad", inputs: { q: `${LARGE}y` } }, root);
    await send(good, root, bad);
    const [gone, kept] = [await rate(good), await rate(root)];
    await ask(caller, `/runs/${good.id}/share`, { method: "PUT", body: {} });
    await ask(caller, `/runs/${root.id}/share`, { method: "PUT", body: {} });
    await work(rule, FIRST);
    expect(await names()).toEqual(["bad longlived", "good shortlived", "root longlived"]);
    expect(await names({ filter: 'eq(trace_tier, "longlived")' })).toEqual(["bad longlived", "root longlived"]);
    const counted = { session: [project], start_time: "2026-05-01T00:00:00Z", filter: 'eq(trace_tier, "longlived")' };
    expect(await ask(caller, "/runs/stats", { body: counted })).toMatchObject({ run_count: 2 });

    await age(FIRST, 13);
    expect(await names()).toHaveLength(3);
    await age(FIRST, 15);
    expect(await names()).toEqual(["bad longlived", "root longlived"]);
    expect(await status(good)).toBe(404);
    const read = await ask<{ inputs: { q: string }; s3_urls?: object }>(caller, `/runs/${bad.id}`);
    expect(read).toMatchObject({ inputs: { q: `${LARGE}y` }, outputs: { a: 1 } });
    expect((await caller.fetch(`/feedback/${gone.id}`)).status).toBe(404);
    expect(await ask(caller, `/feedback/${kept.id}`)).toMatchObject({ run_id: root.id, score: 1 });
    const links = env.DB.prepare("SELECT target_id FROM shares WHERE workspace_id = ?").bind(caller.workspaceId);
    expect((await links.all()).results).toEqual([{ target_id: root.id }]);
    // The attachments of the two, and their payloads. That of the first is shared with a kept run.
    expect(await objects(FIRST)).toBe(4);
  });

  it("says so in exports", async () => {
    const rule = await newRule(caller, { extend_only: true, filter: 'eq(name, "bad")' });
    await send(createEnded(MIDNIGHT - 5_000_000, { name: "good" }), createEnded(MIDNIGHT - 4_000_000, { name: "bad" }));
    const partition = tracePartition(env, caller.workspaceId, { projectId: project, day: FIRST, shard: 0 });
    const { start: startTime, end: endTime } = dayBounds(FIRST);
    const fields = ["name", "trace_tier"] as const;
    const read = () => partition.readPage({ after: null, startTime, endTime, limit: 10, maxBytes: 1e6, fields });
    expect((await read())?.light).toEqual({ name: '["good","bad"]' });
    await work(rule, FIRST);
    expect((await read())?.light).toEqual({ name: '["good","bad"]', trace_tier: '["shortlived","longlived"]' });
  });

  it("keeps them among thousands, and finds them by their texts", async () => {
    const rule = await newRule(caller, { extend_only: true, filter: 'eq(name, "kept")' });
    const runs = Array.from({ length: 1_200 }, (_, at) =>
      sentRun(MIDNIGHT - 9_000_000_000 + at * 1000, {
        name: at === 3 || at === 1_199 ? "kept" : "other",
        end_time: "2026-05-01T23:00:00Z",
        inputs: { q: `question number ${at}` },
      }),
    );
    for (let at = 0; at < runs.length; at += 400)
      await sendMultipart(
        caller,
        runs.slice(at, at + 400).flatMap((run) => runParts("post", run)),
      );
    await work(rule, FIRST);
    const sealed = () =>
      runInDurableObject(stub(FIRST), (_, { storage }) => ({
        blocks: storage.sql.exec("SELECT block, has_grams FROM blocks").toArray(),
        grams: storage.sql.exec<{ n: number }>("SELECT count(DISTINCT n % 4294967296) AS n FROM grams").one().n,
      }));
    expect(await sealed()).toMatchObject({ blocks: [{ block: 0 }, { block: 1 }], grams: 2 });
    const rows = await countRowsWritten(await storage(FIRST), () => age(FIRST, 15));
    expect(await names({ filter: 'search("question number 3")' })).toEqual(["kept longlived"]);
    // The second block has no run, and so no grams. The last one is open.
    const left = [0, 1].map((block) => ({ block, has_grams: 1 - block }));
    expect(await sealed()).toEqual({ blocks: left, grams: 1 });
    // The figure of docs/rules.md.
    expect(rows / 1_198).toBeLessThan(1.5);
    const alarm = await runInDurableObject(stub(FIRST), (_, { storage }) => storage.getAlarm());
    expect(alarm).toBeGreaterThan(Date.now() + 380 * DAY_MS);
    const counted = { session: [project], start_time: "2026-05-01T00:00:00Z" };
    expect(await ask(caller, "/runs/stats", { body: counted })).toMatchObject({ run_count: 2 });
  });

  it("deletes them as a longlived project does", async () => {
    const rule = await newRule(caller, { extend_only: true });
    const run = createEnded(MIDNIGHT - 5_000_000);
    await send(run);
    await work(rule, FIRST);
    await age(FIRST, 399);
    expect(await status(run)).toBe(200);
    await age(FIRST, 401);
    expect(await status(run)).toBe(404);
  });

  it("does not keep a trace whose deletion is requested, and the day ends with the last one", async () => {
    const rule = await newRule(caller, { extend_only: true, filter: 'eq(name, "kept")' });
    const [run, other] = [createEnded(MIDNIGHT - 5_000_000, { name: "kept" }), createEnded(MIDNIGHT - 4_000_000)];
    await send(run, other);
    await work(rule, FIRST);
    await age(FIRST, 15);
    await ask(caller, "/runs/delete", { body: { session_id: project, trace_ids: [run.id] } });
    expect(await status(run)).toBe(404);
    const marks = runInDurableObject(stub(FIRST), (_, { storage }) => storage.sql.exec("SELECT 1 FROM kept").toArray());
    expect(await marks).toEqual([]);
    await age(FIRST, 15);
    expect(await objects(FIRST)).toBe(0);
    const tables = await runInDurableObject(stub(FIRST), (_, { storage }) =>
      storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'runs'").toArray(),
    );
    expect(tables).toEqual([]);
  });

  it("goes with the project", async () => {
    const rule = await newRule(caller, { extend_only: true });
    const run = createEnded(MIDNIGHT - 5_000_000);
    await send(run);
    await work(rule, FIRST);
    await age(FIRST, 15);
    await ask(caller, `/sessions/${project}`, { method: "DELETE" });
    expect(await status(run)).toBe(404);
    expect(await objects(FIRST)).toBe(0);
  });

  it("keeps the runs of the trace on other days, also those that come later", async () => {
    const rule = await newRule(caller, { extend_only: true, filter: 'eq(name, "late")' });
    const root = createEnded(MIDNIGHT - 5_000_000, { name: "root" });
    const late = createEnded(MIDNIGHT + 5_000_000, { name: "late" }, root);
    const last = createEnded(MIDNIGHT + 86_400_000_000, { name: "last" }, root);
    const others = [FIRST, SECOND, THIRD].map((day) => createEnded(Date.parse(day) * 1000 + 6_000_000, { name: day }));
    await send(root, late, ...others);
    await work(rule, FIRST, SECOND);
    await send(last);
    await runDurableObjectAlarm(stub(THIRD));
    for (const day of [FIRST, SECOND, THIRD]) await age(day, 15);
    expect(await names()).toEqual(["last longlived", "late longlived", "root longlived"]);
  });

  it("calls each partition once for all of its traces, and D1 once", async () => {
    const roots = Array.from({ length: 3 }, (_, at) => createEnded(MIDNIGHT - (at + 1) * 1_000_000));
    const [one, other] = roots.map((root) => createEnded(MIDNIGHT + 5_000_000, {}, root));
    await send(...roots, one!, other!);
    const runs = [
      ...(await readStoredRuns(caller, "tests", FIRST)),
      ...(await readStoredRuns(caller, "tests", SECOND)),
    ];
    expect(runs).toHaveLength(5);
    const called: string[] = [];
    const idFromName = (name: string) => {
      called.push(name.slice(-10));
      return env.TRACE_PARTITION.idFromName(name);
    };
    const { env: counted, isSpent } = countCalls(env, 2);
    const TRACE_PARTITION = { idFromName, get: (id: DurableObjectId) => env.TRACE_PARTITION.get(id) } as never;
    await extendTraces({ ...counted, TRACE_PARTITION }, caller.workspaceId, runs);
    expect(called.toSorted()).toEqual([FIRST, SECOND]);
    expect(isSpent()).toBe(false);
    expect(new Set(await names())).toEqual(new Set(["step longlived"]));
  });

  it("asks D1 once for the days of all roots", async () => {
    const roots = Array.from({ length: 4 }, (_, at) => sentRun(MIDNIGHT - (at + 1) * 86_400_000_000));
    await send(...roots.map((root) => sentRun(MIDNIGHT + 5_000_000, {}, root)));
    const { env: counted, isSpent } = countCalls(env, 2);
    const identity = { workspaceId: caller.workspaceId, projectId: project, day: SECOND, shard: 0 };
    await runInDurableObject(stub(SECOND), (_, { storage }) =>
      loadKept(counted, storage.sql, { ...identity, traceTier: "shortlived" }),
    );
    expect(isSpent()).toBe(false);
  });

  it("keeps nothing of a day without such a trace, and takes what comes again", async () => {
    const rule = await newRule(caller, { extend_only: true, filter: 'eq(name, "kept")' });
    const [kept, other] = [createEnded(MIDNIGHT - 5_000_000, { name: "kept" }), createEnded(MIDNIGHT - 4_000_000)];
    await send(kept, other, createEnded(MIDNIGHT + 5_000_000, { name: "next day" }));
    await work(rule, FIRST, SECOND);
    await age(FIRST, 15);
    await age(SECOND, 15);
    expect(await names()).toEqual(["kept longlived"]);
    await send(other);
    expect(await status(other)).toBe(200);
    await runDurableObjectAlarm(stub(FIRST));
    expect(await names()).toEqual(["kept longlived", "step shortlived"]);
    await age(FIRST, 15);
    expect(await names()).toEqual(["kept longlived"]);
  });

  it("extends with an action that it has, and only then", async () => {
    const { id: queue } = await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "q" } });
    const add = { add_to_annotation_queue_id: queue };
    const flags = { extend_annotation_queue_trace_retention: true, extend_webhook_trace_retention: true };
    const rule = await newRule(caller, { ...add, filter: 'eq(name, "a")', ...flags });
    expect(rule).toMatchObject({ extend_only: false, extend_dataset_trace_retention: false, ...flags });
    const plain = await newRule(caller, { ...add, filter: 'eq(name, "b")', extend_webhook_trace_retention: true });
    await send(createEnded(MIDNIGHT - 5_000_000, { name: "a" }), createEnded(MIDNIGHT - 4_000_000, { name: "b" }));
    await work(rule, FIRST);
    await work(plain, FIRST);
    expect(await names()).toEqual(["a longlived", "b shortlived"]);
  });

  it("is refused with another action, and without any", async () => {
    const body = { display_name: "rule", sampling_rate: 1, session_id: project, webhooks: [{ url: "https://a.test" }] };
    const both = await caller.fetch("/runs/rules", { body: { ...body, extend_only: true } });
    expect([both.status, await both.text()]).toEqual([422, expect.stringContaining("extend_only goes with no other")]);
    const none = await caller.fetch("/runs/rules", { body: { ...body, webhooks: [], extend_only: false } });
    expect(none.status).toBe(422);
  });
});
