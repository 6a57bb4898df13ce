/** Exports of one workspace beside those of another, and exports that fail again and again but advance. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { bulkExports, exportRuns } from "../../src/exports/table.ts";
import { spawnDue, sweep, takeIdleJobs, takeLostRuns } from "../../src/exports/schedule.ts";
import { newCaller } from "../support/caller.ts";
import { makeRuns } from "../support/runs.ts";
import {
  DAY_1,
  exportRow,
  forgetExports,
  MICROS_PER_DAY,
  newDestination,
  newExport,
  newProject,
  newWorld,
  readExport,
  type World,
} from "./support.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-01-01T00:00:00Z");

let workspaceId: string;
beforeEach(async () => {
  ({ workspaceId } = await newCaller());
  await forgetExports();
});
afterEach(() => vi.restoreAllMocks());

const countSpawned = async (world: World, id: string) =>
  world.deps.db.$count(bulkExports, eq(bulkExports.sourceExportId, id));

async function newSchedule(world: World, workspace: string, since: number) {
  return newExport(world, workspace, {
    bulk_export_destination_id: await newDestination(world, workspace),
    session_id: await newProject(world, workspace),
    start_time: since * 1000,
    interval_hours: 1,
  });
}

it("a schedule is served within its minute while another workspace catches up", { timeout: 120_000 }, async () => {
  const world = newWorld({ now: START + 1_000 * HOUR, limits: { exportsPerWorkspace: 0 } });
  const destination = await newDestination(world, workspaceId);
  const project = await newProject(world, workspaceId);
  for (let n = 0; n < 150; n++)
    await newExport(world, workspaceId, {
      bulk_export_destination_id: destination,
      session_id: project,
      interval_hours: 1,
    });
  world.clock.now += 2 * HOUR;
  for (let minute = 0; minute < 5; minute++) {
    await sweep(world.deps);
    world.clock.now += MINUTE;
  }
  const { workspaceId: other } = await newCaller();
  const mine = await newSchedule(world, other, world.clock.now - HOUR - 10 * MINUTE);
  await spawnDue(world.deps);
  expect(await countSpawned(world, mine.id)).toBe(1);
});

it("schedules keep up while people use the rest of the quota", async () => {
  const world = newWorld({ now: START + 30 * HOUR, limits: { exportsPerWorkspace: 0, spawnedPerHour: 3 } });
  const schedule = await newSchedule(world, workspaceId, START + 29 * HOUR);
  for (let n = 0; n < 5; n++)
    await newExport(world, workspaceId, {
      bulk_export_destination_id: schedule.destinationId,
      session_id: schedule.sessionId!,
    });
  world.clock.now = START + 30 * HOUR + 10 * MINUTE;
  await spawnDue(world.deps);
  expect(await countSpawned(world, schedule.id)).toBe(1);
});

it("lost runs and idle exports of a workspace are woken beside a backlog of another", async () => {
  const world = newWorld({ now: START });
  const { workspaceId: other } = await newCaller();
  const ids: Record<string, string> = {};
  for (const workspace of [workspaceId, other]) {
    const job = await newExport(world, workspace, {
      bulk_export_destination_id: await newDestination(world, workspace),
      session_id: await newProject(world, workspace),
    });
    ids[workspace] = job.id;
  }
  const copies = (count: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  const insertRuns = (workspace: string, count: number, status: string, pending: string | null) =>
    env.DB.prepare(
      `${copies(count)} INSERT INTO export_runs (export_id, id, workspace_id, project_id, day, start_time, end_time, status, pending, sent_at, created_at, updated_at)
       SELECT ?1, ?2 || ?3 || i, ?2, ?3 || i, 'd', 0, 1, ?3, ?4, 1, 0, 0 FROM n`,
    )
      .bind(ids[workspace], workspace, status, pending)
      .run();
  const pending = JSON.stringify({ file_path: "x", upload_id: null, target_cursor: null, rows_count: null });
  for (const [status, open] of [
    ["RUNNING", null],
    ["FAILED", pending],
  ] as const) {
    await insertRuns(workspaceId, 3_000, status, open);
    await insertRuns(other, 1, status, open);
  }
  const woken = (await takeLostRuns(world.deps.db, START - 1, START)).map(({ runId }) => runId);
  expect(woken).toHaveLength(100);
  expect(woken.filter((id) => id.startsWith(other)).length).toBe(2);
  // Those of uploads are not woken again at once, so that others have their turn.
  const again = (await takeLostRuns(world.deps.db, START - 1, START)).map(({ runId }) => runId);
  expect(again.filter((id) => woken.includes(id))).toEqual([]);
  await world.deps.db.update(bulkExports).set({ nextAttemptAt: 0, plannedAt: null });
  expect(await takeIdleJobs(world.deps.db, START, START + MINUTE)).toContain(ids[other]);
});

/** An export of one day whose 30 files hold 20 runs each. */
async function startDay(options: Parameters<typeof newWorld>[0] = {}) {
  const world = newWorld({ limits: { sliceRows: 20, pageRows: 20 }, ...options });
  const projectId = await newProject(world, workspaceId);
  world.runs = makeRuns({ tenantId: workspaceId, projectId, from: DAY_1, spread: MICROS_PER_DAY, count: 600, seed: 7 });
  const job = await newExport(world, workspaceId, {
    bulk_export_destination_id: await newDestination(world, workspaceId),
    session_id: projectId,
    end_time: DAY_1 + MICROS_PER_DAY,
  });
  return { world, job };
}

it("an export completes that recovers from each of 30 refusals of the store", async () => {
  const refused = new Map<string, number>();
  const { world, job } = await startDay({
    fault: ({ method, url }) => {
      if (method !== "PUT" || !url.includes(".parquet")) return undefined;
      const { pathname } = new URL(url);
      const first = refused.get(pathname) ?? world.clock.now;
      refused.set(pathname, first);
      return world.clock.now < first + 30_000 ? { kind: "status", status: 503, code: "SlowDown" } : undefined;
    },
  });
  await world.settle({ minutes: 60 });
  expect(refused.size).toBe(30);
  expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
  const [run] = await world.deps.db.select().from(exportRuns).where(eq(exportRuns.exportId, job.id)).all();
  expect(run).toMatchObject({ retryNumber: 30, failedAttempts: 0, rows: 600 });
  expect((await readExport(world.s3, job.id)).rows).toHaveLength(600);
});

it("an export completes that fails after each file", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  let failures = 0;
  const { world, job } = await startDay({
    at: async (point) => {
      if (point === "after commit" && failures++ < 29) throw new Error("failed");
    },
  });
  await world.settle({ minutes: 60 });
  expect(failures).toBe(30);
  expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
});
