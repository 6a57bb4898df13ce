/** Deletions that fail in the middle: what they leave is deleted later. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { ask } from "../support/examples.ts";
import {
  DAY,
  NOON,
  projectId,
  runParts,
  type Sent,
  sendMultipart,
  sentRun,
  readStoredRuns,
} from "../support/traces.ts";

const DAYS = [DAY, "2026-11-21"];

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});
beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

async function send(runs: Sent[]): Promise<void> {
  const answer = await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  expect(await answer.json()).toMatchObject({ rejected: 0 });
}

const getPartition = (project: string, day = DAY) =>
  env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${project}/${day}`);
const listStored = async (name: string) =>
  (await Promise.all(DAYS.map(async (day) => readStoredRuns(caller, name, day)))).flat().map(({ id }) => id);

/** While `work` runs, statements of the partition that match fail in D1. */
async function withoutD1(project: string, statement: RegExp, work: () => Promise<void>): Promise<void> {
  const swap = async (change: (own: Env) => Env) =>
    runInDurableObject(getPartition(project), (partition) => {
      const held = partition as unknown as { env: Env };
      held.env = change(held.env);
    });
  let before: Env;
  await swap((own) => {
    before = own;
    const prepare = (text: string) => {
      if (statement.test(text)) throw new Error("D1 is away");
      return own.DB.prepare(text);
    };
    return { ...own, DB: { prepare } as unknown as D1Database };
  });
  await work();
  await swap(() => before);
}

const createFeedback = async (run: Sent) =>
  ask<{ id: string }>(caller, "/feedback", {
    body: { run_id: run.id, key: "mood", score: 1, feedback_source: { type: "app", user_id: crypto.randomUUID() } },
  });
const places = async (id: string) =>
  env.DB.prepare("SELECT count(*) AS n FROM feedback_places WHERE id = ?").bind(id).first("n");

describe("feedback that was deleted while D1 was away", () => {
  it("of a trace: leaves its place in D1 until the alarm", async () => {
    const run = sentRun(NOON, { session_name: "places" });
    await send([run]);
    const project = await projectId(caller, "places");
    const { id } = await createFeedback(run);
    await withoutD1(project, /delete from "feedback_places"/i, async () => {
      const body = { session_id: project, trace_ids: [run.id] };
      expect((await caller.fetch("/runs/delete", { body })).status).toBe(500);
    });
    expect([await listStored("places"), await places(id)]).toEqual([[], 1]);
    await runDurableObjectAlarm(getPartition(project));
    expect(await places(id)).toBe(0);
  });

  it("of a trace: leaves nothing when the request is sent again", async () => {
    const run = sentRun(NOON, { session_name: "again" });
    await send([run]);
    const project = await projectId(caller, "again");
    const { id } = await createFeedback(run);
    const body = { session_id: project, trace_ids: [run.id] };
    await withoutD1(project, /delete from "feedback_places"/i, async () => {
      expect((await caller.fetch("/runs/delete", { body })).status).toBe(500);
    });
    expect((await caller.fetch("/runs/delete", { body })).status).toBe(200);
    expect(await places(id)).toBe(0);
  });

  it("by itself: can be deleted again, and given again", async () => {
    const run = sentRun(NOON, { session_name: "single" });
    await send([run]);
    const project = await projectId(caller, "single");
    const [first, second] = [await createFeedback(run), await createFeedback(run)];
    const remove = async ({ id }: { id: string }) =>
      (await caller.fetch(`/feedback/${id}`, { method: "DELETE" })).status;
    await withoutD1(project, /delete from "feedback_places"/i, async () => {
      expect(await remove(first)).toBe(500);
      expect(await remove(second)).toBe(500);
    });
    expect(await remove(first)).toBe(200);
    expect(await remove(first)).toBe(404);
    await ask(caller, "/feedback", { body: { id: second.id, run_id: run.id, key: "mood", score: 0 } });
    await runDurableObjectAlarm(getPartition(project));
    expect([await places(first.id), await places(second.id)]).toEqual([0, 1]);
    expect(await ask(caller, `/feedback/${second.id}`)).toMatchObject({ score: 0 });
  });
});

describe("feedback on a deleted trace", () => {
  it("is refused, also when it says where the run was", async () => {
    const run = sentRun(NOON, { session_name: "refused" });
    const child = sentRun(NOON + 1, { session_name: "refused" }, run);
    await send([run, child]);
    const session_id = await projectId(caller, "refused");
    await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [run.id] } });
    const given = { session_id, key: "mood", score: 1 };
    // Another day of the project: its first write reads the deletions.
    const elsewhere = { run_id: crypto.randomUUID(), trace_id: run.id, start_time: "2026-11-21T00:00:00Z" };
    for (const one of [{ run_id: run.id, start_time: run.start_time }, { run_id: child.id }, elsewhere]) {
      const refused = await caller.fetch("/feedback", { body: { ...given, ...one } });
      expect([refused.status, await refused.text()]).toEqual([404, expect.stringContaining("deleted")]);
    }
    const listed = await ask(caller, `/feedback?session=${session_id}`);
    expect(listed).toEqual([]);
    const part = { name: `feedback.${crypto.randomUUID()}`, data: JSON.stringify({ ...given, run_id: run.id }) };
    const answer = await sendMultipart(caller, [part]);
    expect(await answer.json()).toMatchObject({
      status: 422,
      errors: [{ message: expect.stringContaining("deleted") }],
    });
    expect((await caller.fetch("/feedback", { body: given })).status).toBe(200);
  });
});

describe("the tier of a project", () => {
  it("is that of a filter as soon as the change is answered, also when a write has read another one before", async () => {
    const run = sentRun(NOON, { session_name: "tier" });
    await send([run]);
    const id = await projectId(caller, "tier");
    const countTier = async (tier: string) =>
      (
        await ask<{ runs: { trace_tier: string }[] }>(caller, "/runs/query", {
          body: { session: [id], filter: `eq(trace_tier, "${tier}")` },
        })
      ).runs.length;
    expect([await countTier("longlived"), await countTier("shortlived")]).toEqual([1, 0]);
    await ask(caller, `/sessions/${id}`, { method: "PATCH", body: { trace_tier: "shortlived" } });
    expect([await countTier("longlived"), await countTier("shortlived")]).toEqual([0, 1]);
    // An isolate that has cached the project.
    const stale = {
      workspaceId: caller.workspaceId,
      projectId: id,
      day: DAY,
      shard: 0,
      traceTier: "longlived" as const,
    };
    await runInDurableObject(getPartition(id), async (partition) => {
      await partition.upsert(stale, [{ kind: "patch", id: run.id, tags: ["late"] }]);
    });
    expect([await countTier("longlived"), await countTier("shortlived")]).toEqual([0, 1]);
  });

  it("comes with the alarm when the first write had read an older one", async () => {
    const { id } = await ask<{ id: string }>(caller, "/sessions", { body: { name: "late", trace_tier: "shortlived" } });
    const stale = {
      workspaceId: caller.workspaceId,
      projectId: id,
      day: DAY,
      shard: 0,
      traceTier: "longlived" as const,
    };
    const { id: run, trace_id } = sentRun(NOON);
    await runInDurableObject(getPartition(id), async (partition) => {
      await partition.upsert(stale, [{ kind: "post", id: run, trace_id, start_time: NOON }]);
    });
    await runDurableObjectAlarm(getPartition(id));
    const filter = 'eq(trace_tier, "shortlived")';
    const found = await ask(caller, "/runs/query", { body: { session: [id], filter } });
    expect(found).toMatchObject({ runs: [{ id: run }] });
  });
});
