/** What the manifests of a schedule say of deletions, and exports of what is deleted or can no longer be read. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { completeJob } from "../../src/exports/ledger/jobs.ts";
import { cancelExport } from "../../src/exports/store.ts";
import { bulkExports, exportRuns } from "../../src/exports/table.ts";
import { traceDeletions } from "../../src/traces/projects/table.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../support/caller.ts";
import { ask } from "../support/examples.ts";
import { sendRuns } from "../support/rules.ts";
import { NOON, projectId } from "../support/traces.ts";
import {
  DAY_1,
  exportRow,
  forgetExports,
  newDestination,
  newExport,
  newProject,
  newWorld,
  readExport,
  type World,
} from "./support.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = DAY_1 / 1000;

let caller: Caller;
beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  caller = await newCaller();
  await forgetExports();
});
afterEach(() => vi.restoreAllMocks());

const listSpawned = async ({ deps }: World, id: string) =>
  deps.db.select().from(bulkExports).where(eq(bulkExports.sourceExportId, id)).orderBy(bulkExports.startTime).all();

async function listNamed(world: World, scheduleId: string): Promise<string[][]> {
  const named: string[][] = [];
  for (const { id } of await listSpawned(world, scheduleId)) {
    const { manifest } = await readExport(world.s3, id);
    named.push((manifest?.deleted ?? []).map(({ trace_id }) => trace_id));
  }
  return named;
}

async function noteDeletion(world: World, project: string, deletedAt: number): Promise<string> {
  const traceId = crypto.randomUUID();
  const row = { workspaceId: caller.workspaceId, projectId: project, traceId, deletedAt };
  await world.deps.db.insert(traceDeletions).values(row);
  return traceId;
}

async function newSchedule(world: World, session_id: string | undefined) {
  return newExport(world, caller.workspaceId, {
    bulk_export_destination_id: await newDestination(world, caller.workspaceId),
    ...(session_id === undefined ? { all_experiments: true } : { session_id }),
    start_time: world.clock.now * 1000,
    interval_hours: 24,
  });
}

it("each deletion is in one manifest, also those of windows that failed or were cancelled, one after another", async () => {
  let refuses = false;
  const world = newWorld({
    now: START,
    fault: () => (refuses ? { kind: "status", status: 403, code: "ExpiredToken" } : undefined),
  });
  const project = await newProject(world, caller.workspaceId);
  const schedule = await newSchedule(world, project);
  const gone: string[] = [];
  for (const [window, what] of ["completes", "fails", "is cancelled", "fails", "completes", "completes"].entries()) {
    for (const hour of [0, 12]) gone.push(await noteDeletion(world, project, START + window * DAY + hour * HOUR));
    world.clock.now = START + (window + 1) * DAY + 10 * MINUTE;
    refuses = what === "fails";
    if (what === "is cancelled") {
      world.deps.at = async (point) => {
        if (point !== "before manifest") return;
        const [job] = (await listSpawned(world, schedule.id)).slice(-1);
        if (job) await cancelExport(world.deps.db, job.id, world.clock.now);
      };
    } else world.deps.at = async () => undefined;
    await world.settle({ minutes: 5 });
  }
  const spawned = await listSpawned(world, schedule.id);
  const statuses = spawned.map(({ status }) => status);
  expect(statuses).toEqual(["COMPLETED", "FAILED", "CANCELLED", "FAILED", "COMPLETED", "COMPLETED"]);
  const named = (await listNamed(world, schedule.id)).filter((_, at) => statuses[at] === "COMPLETED");
  expect(named.map((list) => list.toSorted())).toEqual([
    gone.slice(0, 2).toSorted(),
    gone.slice(2, 10).toSorted(),
    gone.slice(10).toSorted(),
  ]);
});

it("what was deleted with an experiment, or before it, is in the manifest of its window", async () => {
  const world = newWorld({ now: START });
  const experiment = await newProject(world, caller.workspaceId, crypto.randomUUID());
  const schedule = await newSchedule(world, undefined);
  world.clock.now = START + DAY + 10 * MINUTE;
  await world.settle({ minutes: 5 });
  const gone = await noteDeletion(world, experiment, START + 30 * HOUR);
  await env.DB.prepare("DELETE FROM projects WHERE id = ?").bind(experiment).run();
  world.clock.now = START + 2 * DAY + 10 * MINUTE;
  await world.settle({ minutes: 5 });
  expect(await listNamed(world, schedule.id)).toEqual([[], [gone]]);
});

it("the traces of a deleted project are in the manifest of its schedule, which ends after it with the reason", async () => {
  const sent = await sendRuns(caller, NOON, [{}, {}, {}]);
  const project = await projectId(caller);
  const world = newWorld({ now: Date.now() - 25 * HOUR });
  const schedule = await newSchedule(world, project);
  await ask(caller, `/sessions/${project}`, { method: "DELETE" });
  for (let day = 1; day <= 4; day++) {
    world.clock.now = schedule.startTime / 1000 + day * DAY + 10 * MINUTE;
    await world.settle({ minutes: 5 });
  }
  const named = await listNamed(world, schedule.id);
  expect(named.flat().toSorted()).toEqual(sent.map(({ id }) => id).toSorted());
  expect(named.filter((list) => list.length > 0)).toHaveLength(1);
  expect(await exportRow(world, schedule.id)).toMatchObject({
    status: "FAILED",
    error: expect.stringContaining("ProjectDeleted") as string,
  });
  expect((await listSpawned(world, schedule.id)).map(({ status }) => status)).not.toContain("FAILED");
});

it("an export whose project is deleted before it begins fails with the reason", async () => {
  const world = newWorld({ now: START, limits: { exportsPerWorkspace: 0 } });
  const session_id = await newProject(world, caller.workspaceId);
  const bulk_export_destination_id = await newDestination(world, caller.workspaceId);
  const job = await newExport(world, caller.workspaceId, { bulk_export_destination_id, session_id });
  await env.DB.prepare("DELETE FROM projects WHERE id = ?").bind(session_id).run();
  world.deps.limits.exportsPerWorkspace = 15;
  await world.settle({ minutes: 3 });
  expect(await exportRow(world, job.id)).toMatchObject({
    status: "FAILED",
    error: expect.stringContaining("ProjectDeleted") as string,
  });
});

it.each(["before it begins", "while it reads"])(
  "an export by content fails when the workspace encrypts %s",
  async (when) => {
    await sendRuns(caller, NOON, [{}]);
    const world = newWorld({ now: NOON / 1000 + DAY });
    let isOn = false;
    world.deps.at = async (point) => {
      if (when === "before it begins" || point !== "before commit" || isOn) return;
      isOn = true;
      await turnOn();
    };
    const shared = {
      bulk_export_destination_id: await newDestination(world, caller.workspaceId),
      session_id: await projectId(caller),
      start_time: NOON,
      end_time: NOON + 60_000_000,
    };
    const job = await newExport(world, caller.workspaceId, { ...shared, filter: 'search(inputs, "needle")' });
    const other = await newExport(world, caller.workspaceId, { ...shared, filter: 'eq(name, "x")' });
    if (when === "before it begins") await turnOn();
    await world.settle({ minutes: 12 });
    expect(await exportRow(world, job.id)).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining("encrypts") as string,
    });
    expect((await readExport(world.s3, job.id)).manifest).toBeNull();
    expect(await exportRow(world, other.id)).toMatchObject({ status: "COMPLETED" });
  },
);

async function turnOn(): Promise<void> {
  const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
  const answer = await send("/api/v1/encryption-keys", { method: "POST", headers });
  expect(answer.ok).toBe(true);
}

it("an export that completes notes at once what its late runs have seen of earlier windows", async () => {
  const world = newWorld({ now: START });
  const project = await newProject(world, caller.workspaceId);
  const schedule = await newSchedule(world, project);
  world.clock.now = START + 2 * DAY + 10 * MINUTE;
  await world.settle({ minutes: 2 });
  const [first, second] = await listSpawned(world, schedule.id);
  const { db } = world.deps;
  await db
    .update(bulkExports)
    .set({ status: "RUNNING", plannedAt: 1 })
    .where(eq(bulkExports.id, second?.id ?? ""));
  const [run] = await db
    .select()
    .from(exportRuns)
    .where(eq(exportRuns.exportId, first?.id ?? ""))
    .all();
  expect(run).toMatchObject({ late: false, status: "COMPLETED" });
  await db
    .insert(exportRuns)
    .values({ ...run!, exportId: second?.id ?? "", id: crypto.randomUUID(), late: true, seen: { 0: 77 } });
  expect(await completeJob(db, second?.id ?? "", world.clock.now)).toBe(true);
  const [after] = await db
    .select()
    .from(exportRuns)
    .where(eq(exportRuns.exportId, first?.id ?? ""))
    .all();
  expect(after?.seen).toEqual({ 0: 77 });
});
