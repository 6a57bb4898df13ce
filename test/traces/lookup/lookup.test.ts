/** Runs are found by their ids alone, among hundreds of projects and days. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { DAY, NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../../support/traces.ts";

let caller: Caller;
let runs: Sent[];
/** Days of other projects, with newer runs on the same day. They hold nothing: a look-up that asks some of them misses the runs. */
const OTHERS = 1_000;

const sendAll = async (who: Caller, all: object[], kind: "post" | "patch" = "post") => {
  const parts = all.flatMap((run) => runParts(kind, run as Record<string, unknown>));
  expect(await (await sendMultipart(who, parts)).json()).toMatchObject({ rejected: 0 });
};

/** Makes other project-days of a workspace, each with a newer run. */
async function makeOthers({ workspaceId }: Caller, day = DAY): Promise<void> {
  const ids = JSON.stringify(Array.from({ length: OTHERS }, () => crypto.randomUUID()));
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO projects (id, workspace_id, name, trace_tier, start_time)
       SELECT value, ?, value, 'longlived', 9000000000000 FROM json_each(?)`,
    ).bind(workspaceId, ids),
    env.DB.prepare(
      `INSERT INTO trace_partitions (workspace_id, project_id, day, shard, "rows", bytes, last_run_start_time)
       SELECT ?, value, ?, 0, 1, 1, 9000000000000 FROM json_each(?)`,
    ).bind(workspaceId, day, ids),
  ]);
}

beforeAll(async () => {
  caller = await newCaller();
  runs = Array.from({ length: 6 }, (_, n) => sentRun(NOON + n * 1000, { session_name: `project ${n}` }));
  await sendAll(caller, runs);
  await makeOthers(caller);
});

it("patches without a project reach their runs", async () => {
  const patches = runs.map(({ id, trace_id, dotted_order }) => ({
    id,
    trace_id,
    dotted_order,
    end_time: "2026-11-20T17:49:55Z",
  }));
  await sendAll(caller, patches, "patch");
  for (const { id } of runs) expect(await ask(caller, `/runs/${id}`)).toMatchObject({ status: "success" });
  expect(await ask(caller, "/sessions?name=default")).toEqual([]);
});

it("feedback, links, queues and examples find a run by its id", async () => {
  const queue = await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "q" } });
  const dataset = await ask<{ id: string }>(caller, "/datasets", { body: { name: "d" } });
  const batch = runs.map(({ id: run_id }) => {
    const id = crypto.randomUUID();
    return { name: `feedback.${id}`, data: JSON.stringify({ id, run_id, key: "batch", score: 1 }) };
  });
  expect(await (await sendMultipart(caller, batch)).json()).toMatchObject({ rejected: 0, errors: [] });
  for (const { id } of runs) {
    await ask(caller, "/feedback", { body: { run_id: id, key: "single", score: 1 } });
    expect(Object.keys((await ask<{ feedback_stats: object }>(caller, `/runs/${id}`)).feedback_stats).sort()).toEqual([
      "batch",
      "single",
    ]);
    await ask(caller, `/runs/${id}/share`, { method: "PUT", body: {} });
    await ask(caller, `/api/v2/runs/${id}`);
    await ask(caller, `/annotation-queues/${queue.id}/runs`, { body: [id] });
    await ask(caller, "/examples", {
      body: { dataset_id: dataset.id, source_run_id: id, use_source_run_io: true, inputs: {} },
    });
    const { runs: found } = await ask<{ runs: { id: string }[] }>(caller, "/runs/query", { body: { trace: id } });
    expect(found.map((run) => run.id)).toEqual([id]);
  }
});

it("a child is found by its id, and by its parent's, on another day than the root and without it", async () => {
  const root = sentRun(NOON - 5_000, { session_name: "project 3" });
  const child = { ...sentRun(NOON + 86_400_000_000, { session_name: "project 3" }, root), id: crypto.randomUUID() };
  const { dotted_order: _, ...bare } = child;
  await sendAll(caller, [bare]);
  expect(await ask(caller, `/runs/${child.id}`)).toMatchObject({ trace_id: root.id });
  for (const body of [{ trace: root.id }, { parent_run: root.id }]) {
    const { runs: found } = await ask<{ runs: { id: string }[] }>(caller, "/runs/query", { body });
    expect(found.map(({ id }) => id)).toEqual([child.id]);
  }
});

it("a random id is found on old days of a project", async () => {
  const who = await newCaller();
  const days = Array.from({ length: 3 }, (_, n) => {
    const id = crypto.randomUUID();
    const start_time = new Date(NOON / 1000 - n * 86_400_000).toISOString();
    return { id, trace_id: id, name: "step", run_type: "chain", start_time, session_name: "one project" };
  });
  await sendAll(who, days);
  await makeOthers(who, "2026-11-21");
  for (const { id } of days) {
    expect((await who.fetch(`/runs/${id}`)).status).toBe(200);
    await ask(who, "/feedback", { body: { run_id: id, key: "good", score: 1 } });
  }
});

it("runs that are older than the index are found before and after it has read them", async () => {
  const who = await newCaller();
  const root = sentRun(NOON);
  const child = sentRun(NOON + 1000, {}, root);
  await sendAll(who, [root, child]);
  const index = env.TRACE_INDEX.getByName(who.workspaceId);
  const forget = () => runInDurableObject(index, async (_, { storage }) => storage.deleteAll());
  await forget();
  await runInDurableObject(index, (_, ctx) => ctx.abort()).catch(() => undefined);
  const status = async (id: string) => (await who.fetch(`/runs/${id}`)).status;
  expect([await status(root.id), await status(child.id)]).toEqual([200, 200]);
  const fresh = env.TRACE_INDEX.getByName(who.workspaceId);
  expect(await runDurableObjectAlarm(fresh)).toBe(true);
  const states = await runInDurableObject(fresh, (_, { storage }) =>
    storage.sql.exec("SELECT state FROM days").toArray(),
  );
  expect(states).toEqual([{ state: "known" }]);
  expect([await status(root.id), await status(child.id), await status(crypto.randomUUID())]).toEqual([200, 200, 404]);
});

it("a request writes one row of the index, however many runs it has", async () => {
  const who = await newCaller();
  await sendAll(who, [sentRun(NOON)]);
  const index = env.TRACE_INDEX.getByName(who.workspaceId);
  const count = () =>
    runInDurableObject(
      index,
      (_, { storage }) => storage.sql.exec("SELECT count(*) AS n FROM recent").one()["n"] as number,
    );
  const before = await count();
  await sendAll(
    who,
    Array.from({ length: 100 }, (_, n) => sentRun(NOON + n)),
  );
  expect((await count()) - before).toBe(1);
});

it("an index forgets the days that are gone, and an empty one stores nothing", async () => {
  const who = await newCaller();
  await sendAll(who, [sentRun(NOON), sentRun(NOON, { session_name: "other" })]);
  const index = env.TRACE_INDEX.getByName(who.workspaceId);
  const sweepLater = async () => {
    await runInDurableObject(index, (_, { storage }) => {
      storage.sql.exec("UPDATE days SET touched = 0");
      storage.sql.exec("UPDATE meta SET value = '0' WHERE name = 'swept'");
    });
    expect(await runDurableObjectAlarm(index)).toBe(true);
  };
  const countTables = () =>
    runInDurableObject(
      index,
      (_, { storage }) => storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'days'").toArray().length,
    );
  const countDays = () =>
    runInDurableObject(index, (_, { storage }) => storage.sql.exec("SELECT 1 FROM days").toArray().length);
  await sweepLater();
  expect(await countDays()).toBe(2);
  await ask(who, `/sessions/${await projectId(who, "other")}`, { method: "DELETE" });
  await sweepLater();
  expect(await countDays()).toBe(1);
  await ask(who, `/sessions/${await projectId(who)}`, { method: "DELETE" });
  await sweepLater();
  expect(await countTables()).toBe(0);
  const run = sentRun(NOON);
  await sendAll(who, [run]);
  expect((await who.fetch(`/runs/${run.id}`)).status).toBe(200);
});
