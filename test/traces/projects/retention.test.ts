/** How long a project keeps its runs. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { DAY, NOON, projectId, sendWithAttachments, sentRun } from "../../support/traces.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const stub = (project: string, day = DAY) =>
  env.TRACE_PARTITION.get(env.TRACE_PARTITION.idFromName(`${caller.workspaceId}/${project}/${day}`));
describe("retention", () => {
  /** As if the last write were this many days ago. */
  async function age(project: string, past: number): Promise<void> {
    await runInDurableObject(stub(project), (_, { storage }) => {
      storage.sql.exec("UPDATE meta SET value = ? WHERE name = 'written'", String(Date.now() - past * 86_400_000));
      const identity = {
        workspaceId: caller.workspaceId,
        projectId: project,
        day: "2020-01-01",
        shard: 0,
        traceTier: "longlived",
      };
      storage.sql.exec("UPDATE meta SET value = ? WHERE name = 'identity'", JSON.stringify(identity));
    });
  }
  const count = async (project: string) =>
    runInDurableObject(stub(project), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'runs'").toArray().length === 0
        ? 0
        : storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM runs").one().n,
    );
  const patch = async (project: string, body: object) => ask(caller, `/sessions/${project}`, { method: "PATCH", body });

  it("is a project's own, and a change reaches the days that are there", async () => {
    await sendWithAttachments(caller, [sentRun(NOON, { session_name: "short" })]);
    const project = await projectId(caller, "short");
    await age(project, 40);
    await runDurableObjectAlarm(stub(project));
    expect(await count(project)).toBe(1);
    expect(await patch(project, { retention_days: 30 })).toMatchObject({ retention_days: 30, legal_hold: false });
    expect(await runDurableObjectAlarm(stub(project))).toBe(true);
    expect(await count(project)).toBe(0);
  });

  it("is longer than the tier's when the project says so", async () => {
    await sendWithAttachments(caller, [sentRun(NOON, { session_name: "long" })]);
    const project = await projectId(caller, "long");
    await patch(project, { retention_days: 1_000 });
    await age(project, 900);
    await runDurableObjectAlarm(stub(project));
    expect(await count(project)).toBe(1);
    await patch(project, { retention_days: null });
    await runDurableObjectAlarm(stub(project));
    expect(await count(project)).toBe(0);
  });

  it("does not end while the project is on legal hold, and nothing is deleted by request", async () => {
    const root = sentRun(NOON, { session_name: "held", extra: { metadata: { thread_id: "t-1" } } });
    await sendWithAttachments(caller, [root]);
    const project = await projectId(caller, "held");
    expect(await patch(project, { legal_hold: true })).toMatchObject({ legal_hold: true });
    const body = { session_id: project, trace_ids: [root.id] };
    expect((await caller.fetch("/runs/delete", { body })).status).toBe(409);
    expect((await caller.fetch(`/sessions/${project}`, { method: "DELETE" })).status).toBe(409);
    expect((await caller.fetch(`/sessions?session_ids=${project}`, { method: "DELETE" })).status).toBe(409);
    await age(project, 900);
    await runDurableObjectAlarm(stub(project));
    expect(await count(project)).toBe(1);
    await patch(project, { legal_hold: false });
    await runDurableObjectAlarm(stub(project));
    expect(await count(project)).toBe(0);
  });

  it("does not begin again with a deletion", async () => {
    const gone = sentRun(NOON, { session_name: "counted" });
    await sendWithAttachments(caller, [gone, sentRun(NOON + 1, { session_name: "counted" })]);
    const project = await projectId(caller, "counted");
    await age(project, 390);
    await ask(caller, "/runs/delete", { body: { session_id: project, trace_ids: [gone.id] } });
    await runDurableObjectAlarm(stub(project));
    expect(await count(project)).toBe(1);
    const alarm = await runInDurableObject(stub(project), (_, { storage }) => storage.getAlarm());
    expect(alarm).toBeLessThan(Date.now() + 11 * 86_400_000);
  });

  it("is set by an upsert of a project that exists, and a hold keeps its feedback", async () => {
    const root = sentRun(NOON, { session_name: "upserted", extra: { metadata: { thread_id: "t-1" } } });
    await sendWithAttachments(caller, [root]);
    const feedback = await ask<{ id: string }>(caller, "/feedback", {
      body: { run_id: root.id, key: "mood", score: 1 },
    });
    const upsert = async (more: object) =>
      ask(caller, "/sessions?upsert=true", { body: { name: "upserted", ...more } });
    expect(await upsert({ legal_hold: true, retention_days: 30 })).toMatchObject({
      legal_hold: true,
      retention_days: 30,
    });
    expect(await upsert({})).toMatchObject({ legal_hold: true, retention_days: 30 });
    const remove = async () => (await caller.fetch(`/feedback/${feedback.id}`, { method: "DELETE" })).status;
    expect(await remove()).toBe(409);
    expect((await caller.fetch(`/feedback/${feedback.id}`)).status).toBe(200);
    await upsert({ legal_hold: false });
    expect(await remove()).toBe(200);
  });

  it.each([0, 1.5, 40_000, "30"])("refuses retention_days of %s", async (retention_days) => {
    const project = await ask<{ id: string }>(caller, "/sessions", { body: { name: `bad ${retention_days}` } });
    expect((await caller.fetch(`/sessions/${project.id}`, { method: "PATCH", body: { retention_days } })).status).toBe(
      422,
    );
  });
});
