/** Writes that meet the end of their day or of their project: they are kept or refused, and never acknowledged and lost. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { database } from "../../../src/db/client.ts";
import type { TracePartition } from "../../../src/traces/partition/object.ts";
import { deleteRulesOfProject } from "../../../src/automation/rules/store.ts";
import { destroyProjects } from "../../../src/traces/delete.ts";
import { announcePartition } from "../../../src/traces/projects/partitions.ts";
import { deleteProject } from "../../../src/traces/projects/store.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../../support/traces.ts";

const BIG = "x".repeat(300_000);
/** A day whose retention is over as soon as its last write is. */
const OLD = Date.UTC(2019, 2, 4, 12) * 1000;
const OLD_DAY = "2019-03-04";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});
beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

const send = async (run: Sent) => sendMultipart(caller, runParts("post", run));
const readRunStatus = async (run: Sent) => (await caller.fetch(`/runs/${run.id}`)).status;
const keys = async (project: string) =>
  (await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/${project}/` })).objects.map(({ key }) => key);

/** A day with one run, whose last write is too long ago. */
async function overdue(name: string) {
  const first = sentRun(OLD, { session_name: name, inputs: { big: `${name} ${BIG}` } });
  expect((await send(first)).status).toBe(202);
  const project = await projectId(caller, name);
  const place = { projectId: project, day: OLD_DAY, shard: 0 };
  const object = env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${project}/${OLD_DAY}`);
  await runInDurableObject(object, (_, { storage }) => {
    storage.sql.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('written', '0')");
  });
  const identity = { workspaceId: caller.workspaceId, ...place, traceTier: "longlived" as const };
  const createLaterRun = () => sentRun(OLD + 1, { session_name: name });
  return { first, project, object, identity, createLaterRun, stub: tracePartition(env, caller.workspaceId, place) };
}

/** Replaces bindings of the object's environment until `restore`. */
async function replaceBindings(object: DurableObjectStub<TracePartition>, bindings: (own: Env) => Partial<Env>) {
  let before: Env;
  await runInDurableObject(object, (partition) => {
    const own = partition as unknown as { env: Env };
    before = own.env;
    own.env = { ...before, ...bindings(before) };
  });
  const restore = () =>
    runInDurableObject(object, (partition) => void ((partition as unknown as { env: Env }).env = before));
  return { restore };
}

it("a day that expires takes the links of its traces along, and no others", async () => {
  const { first, object, project } = await overdue("shared");
  const later = sentRun(NOON, { session_name: "shared" });
  const childOnly = sentRun(OLD + 5, { session_name: "shared" }, sentRun(OLD));
  // The root of this one is on a day that stays.
  const over = sentRun(OLD + 6, { session_name: "shared" }, sentRun(NOON + 1, { session_name: "shared" }));
  for (const run of [later, childOnly, over]) expect((await send(run)).status).toBe(202);
  const shared = [first, later, childOnly, over];
  for (const { id } of shared)
    expect((await caller.fetch(`/runs/${id}/share`, { method: "PUT", body: {} })).status).toBe(200);
  await runInDurableObject(object, (_, { storage }) => {
    storage.sql.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('written', '0')");
  });
  expect(await runDurableObjectAlarm(object)).toBe(true);
  const { results } = await env.DB.prepare("SELECT target_id FROM shares WHERE project_id = ?").bind(project).all();
  expect(new Set(results.map(({ target_id }) => target_id))).toEqual(new Set([later.id, over.trace_id]));
});

describe("a write of a day that expires", () => {
  it("is refused while the day is deleted, and kept when it is sent again", async () => {
    const { first, object, createLaterRun } = await overdue("expiring");
    const gate = { reached: false, open: false };
    // No promise is shared: those of one object cannot be awaited in another.
    const { restore } = await replaceBindings(object, ({ BLOBS }) => ({
      BLOBS: {
        list: async (options: R2ListOptions) => {
          gate.reached = true;
          while (!gate.open) await new Promise((resolve) => setTimeout(resolve, 5));
          return BLOBS.list(options);
        },
        delete: (all: string[]) => BLOBS.delete(all),
      } as unknown as R2Bucket,
    }));
    const alarm = runDurableObjectAlarm(object);
    await vi.waitFor(() => expect(gate.reached).toBe(true), 5_000);
    const run = createLaterRun();
    const refused = await send(run);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    const feedback = { run_id: first.id, key: "mood", score: 1, session_id: await projectId(caller, "expiring") };
    expect((await caller.fetch("/feedback", { body: { ...feedback, start_time: first.start_time } })).status).toBe(503);
    gate.open = true;
    await alarm;
    await restore();
    expect(await readRunStatus(first)).toBe(404);
    expect((await send(run)).status).toBe(202);
    expect(await readRunStatus(run)).toBe(200);
    await runDurableObjectAlarm(object);
    expect(await readRunStatus(run)).toBe(200);
  });

  it("is refused after a failure in the middle and a restart, until all is deleted", async () => {
    const { first, object, project, createLaterRun } = await overdue("failing");
    const { restore } = await replaceBindings(object, ({ DB }) => ({
      DB: {
        prepare: (text: string) => {
          if (/delete from/i.test(text)) throw new Error("D1 is away");
          return DB.prepare(text);
        },
      } as unknown as D1Database,
    }));
    await runDurableObjectAlarm(object);
    await restore();
    // Its payload is gone: a write must not renew what is left.
    expect(await keys(project)).toEqual([]);
    const run = createLaterRun();
    expect((await send(run)).status).toBe(503);
    await runInDurableObject(object, (_, ctx) => ctx.abort()).catch(() => undefined);
    expect((await send(run)).status).toBe(503);
    // The first stub stays broken.
    expect(await runDurableObjectAlarm(env.TRACE_PARTITION.get(object.id))).toBe(true);
    expect(await readRunStatus(first)).toBe(404);
    expect((await send(run)).status).toBe(202);
    expect(await readRunStatus(run)).toBe(200);
  });

  it.each([
    { what: "the project", read: /"projects"/, tier: "longlived" },
    { what: "the links that end, beside a trace that is kept", read: /"shares"/, tier: "shortlived" },
  ])("keeps the day when it waits for others while the alarm reads $what", async ({ what, read, tier }) => {
    const { first, project, object, identity, createLaterRun, stub } = await overdue(`waiting: ${what}`);
    const kept = createLaterRun();
    expect((await send(kept)).status).toBe(202);
    expect((await caller.fetch(`/runs/${first.id}/share`, { method: "PUT", body: {} })).status).toBe(200);
    await env.DB.prepare("UPDATE projects SET trace_tier = ? WHERE id = ?").bind(tier, project).run();
    const { id, trace_id } = createLaterRun();
    await runInDurableObject(object, async (partition, { storage }) => {
      storage.sql.exec("UPDATE meta SET value = '0' WHERE name = 'written'");
      storage.sql.exec("INSERT INTO kept (trace_id) VALUES (?)", kept.id);
      const own = partition as unknown as { env: Env };
      let stored: Promise<unknown> | undefined;
      const DB = {
        prepare: (text: string) => {
          if (read.test(text))
            stored ??= partition.upsert(identity, [{ kind: "post", id, trace_id, start_time: OLD + 1 }], {
              batched: true,
            });
          return env.DB.prepare(text);
        },
      } as unknown as D1Database;
      const before = own.env;
      // Then only the time of the other traces is over.
      own.env = { ...before, DB, ...(tier === "shortlived" && { TRACE_RETENTION_DAYS: "36500" }) };
      await partition.alarm();
      own.env = before;
      expect(await stored).toEqual({ shards: 1, left: [] });
    });
    expect([await readRunStatus(first), (await stub.lookUp([id])).held]).toEqual([200, [id]]);
    const links = env.DB.prepare("SELECT target_id FROM shares WHERE project_id = ?").bind(project);
    expect((await links.all()).results).toEqual([{ target_id: first.id }]);
  });

  it("is refused when its payload was deleted before it came", async () => {
    const { stub, identity, project, createLaterRun } = await overdue("late payload");
    const { id, trace_id } = createLaterRun();
    const [key = ""] = await keys(project);
    const hash = key.split("/").at(-1) as string;
    await stub.destroy(identity);
    const inputs = { hash, bytes: 300_000, preview: "x" };
    const write = { kind: "post" as const, id, trace_id, start_time: OLD + 1, inputs };
    await expect(stub.upsert(identity, [write])).rejects.toThrow(/^Problem:503:/);
    await env.BLOBS.put(key, BIG);
    expect(await stub.upsert(identity, [write])).toEqual({ shards: 1, left: [] });
  });
});

describe("a run of a project that another isolate has just deleted", () => {
  /** Deletes a project as another isolate does: this one has it in its cache. */
  async function deleteElsewhere(name: string) {
    const run = sentRun(NOON, { session_name: name });
    expect((await send(run)).status).toBe(202);
    const project = await projectId(caller, name);
    // By its id, too.
    expect((await send({ ...sentRun(NOON), session_id: project })).status).toBe(202);
    const place = { projectId: project, day: "2026-11-20", shard: 0 };
    await tracePartition(env, caller.workspaceId, place).destroy({ workspaceId: caller.workspaceId, ...place });
    expect(await deleteProject(database(env.DB), caller.workspaceId, project)).toBe(true);
    return { project, place };
  }
  const partitions = (project: string) =>
    env.DB.prepare("SELECT count(*) AS n FROM trace_partitions WHERE project_id = ?").bind(project).first("n");

  it("makes a new project of the name, and takes its payloads there", async () => {
    const { project } = await deleteElsewhere("by name");
    const run = sentRun(NOON + 1, { session_name: "by name", inputs: { big: BIG } });
    const attachment = { name: `attachment.${run.id}.note`, type: "text/plain", data: "kept" };
    const answer = await sendMultipart(caller, [...runParts("post", run), attachment]);
    expect(await answer.json()).toMatchObject({ taken: 1, rejected: 0, errors: [] });
    const again = await projectId(caller, "by name");
    expect(again).not.toBe(project);
    expect(await ask(caller, `/runs/${run.id}`)).toMatchObject({ session_id: again, inputs: { big: BIG } });
    expect(await keys(again)).toHaveLength(2);
    expect([await partitions(project), await keys(project)]).toEqual([0, []]);
  });

  it("is refused when it names the id", async () => {
    const { project } = await deleteElsewhere("by id");
    const run = { ...sentRun(NOON + 1, { inputs: { big: BIG } }), session_id: project, session_name: undefined };
    const answer = await sendMultipart(caller, runParts("post", run));
    const errors = [{ path: run.id, message: expect.stringContaining("no such project") }];
    expect(await answer.json()).toMatchObject({ status: 422, errors });
    expect([await partitions(project), await keys(project)]).toEqual([0, []]);
  });

  it("leaves no feedback there", async () => {
    const { project } = await deleteElsewhere("feedback");
    const given = { run_id: sentRun(NOON).id, session_id: project, start_time: "2026-11-20", key: "mood", score: 1 };
    expect((await caller.fetch("/feedback", { body: given })).status).toBe(404);
    const part = { name: `feedback.${crypto.randomUUID()}`, data: JSON.stringify(given) };
    const run = sentRun(NOON, { session_name: "other" });
    const answer = await sendMultipart(caller, [...runParts("post", run), part]);
    expect(await answer.json()).toMatchObject({ taken: 1, rejected: 1 });
    expect(await partitions(project)).toBe(0);
  });
});

it("a project is deleted only when it has no day, and gets none after that", async () => {
  const db = database(env.DB);
  const { workspaceId } = caller;
  const { id } = await ask<{ id: string }>(caller, "/sessions", { body: { name: "contended" } });
  const place = { workspaceId, projectId: id, day: OLD_DAY, shard: 0 };
  expect(await announcePartition(db, place)).toBe(true);
  expect(await announcePartition(db, place)).toBe(true);
  expect(await deleteProject(db, workspaceId, id)).toBe(false);
  await destroyProjects(env, workspaceId, [id], deleteRulesOfProject);
  expect((await caller.fetch(`/sessions/${id}`)).status).toBe(404);
  expect(await announcePartition(db, place)).toBe(false);
});
