import { beforeEach, describe, expect, it } from "vitest";
import { cancelExport, listExportRuns, readProgress } from "../../src/exports/store.ts";
import { advance } from "../../src/exports/work.ts";
import { sweep } from "../../src/exports/schedule.ts";
import { LIMITS } from "../../src/exports/limits.ts";
import { newCaller } from "../support/caller.ts";
import { makeRuns } from "../support/runs.ts";
import {
  DAY_1,
  listExpectedRows,
  exportRow,
  MICROS_PER_DAY,
  newDestination,
  newExport,
  newProject,
  newWorld,
  readExport,
  registerDay,
  type World,
} from "./support.ts";

let workspaceId: string;

beforeEach(async () => {
  ({ workspaceId } = await newCaller());
});

/** A world with a project of 400 runs over four days, small slices, and an export of the first three. */
async function startExporting(options: Parameters<typeof newWorld>[0] = {}) {
  const world = newWorld({ limits: { sliceRows: 60, pageRows: 25 }, ...options });
  const projectId = await newProject(world, workspaceId);
  world.runs = makeRuns({
    tenantId: workspaceId,
    projectId,
    from: DAY_1,
    spread: 4 * MICROS_PER_DAY,
    count: 400,
    seed: 7,
  });
  const destinationId = await newDestination(world, workspaceId);
  const job = await newExport(world, workspaceId, { bulk_export_destination_id: destinationId, session_id: projectId });
  const expected = world.runs.filter((run) => run.start_time < DAY_1 + 3 * MICROS_PER_DAY);
  return { world, projectId, destinationId, job, expected };
}

async function listRuns(world: World, exportId: string) {
  return listExportRuns(world.deps.db, exportId, { limit: 1000, offset: 0 });
}

describe("an export", () => {
  it("writes every run of the window once, in order, in files that a manifest lists", async () => {
    const { world, job, expected } = await startExporting();
    expect(job.status).toBe("RUNNING");
    await world.settle({ minutes: 1 });
    const { manifest, rows, keys } = await readExport(world.s3, job.id);
    expect(rows).toEqual(listExpectedRows(expected));
    expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED", error: null });
    const listed = manifest?.partitions.flatMap(({ files }) => files) ?? [];
    expect(listed.map(({ key }) => key).sort()).toEqual(keys);
    expect(manifest?.rows).toBe(expected.length);
    expect(keys[0]).toBe(
      `traces/export_id=${job.id}/tenant_id=${workspaceId}/session_id=${job.sessionId}/runs/year=2026/month=1/day=1/part-00000.parquet`,
    );
    expect(keys.length).toBeGreaterThan(3);
    expect(world.s3.requests.at(-1)?.key).toMatch(/_manifest.json$/);
  });

  it("has runs whose windows tile its own exactly", async () => {
    const world = newWorld();
    const projectId = await newProject(world, workspaceId);
    const job = await newExport(world, workspaceId, {
      bulk_export_destination_id: await newDestination(world, workspaceId),
      session_id: projectId,
      start_time: DAY_1 + 1,
      end_time: DAY_1 + 2 * MICROS_PER_DAY + 3,
    });
    await world.settle({ minutes: 1 });
    const runs = await listRuns(world, job.id);
    expect(runs.map(({ day, startTime, endTime }) => [day, startTime, endTime])).toEqual([
      ["2026-01-01", DAY_1 + 1, DAY_1 + MICROS_PER_DAY],
      ["2026-01-02", DAY_1 + MICROS_PER_DAY, DAY_1 + 2 * MICROS_PER_DAY],
      ["2026-01-03", DAY_1 + 2 * MICROS_PER_DAY, DAY_1 + 2 * MICROS_PER_DAY + 3],
    ]);
    expect(runs.every(({ status, files }) => status === "COMPLETED" && files.length === 0)).toBe(true);
    expect((await readExport(world.s3, job.id)).manifest?.rows).toBe(0);
  });

  it("takes the experiments of the moment it runs, and no more than the deployment allows", async () => {
    const world = newWorld();
    const bulk_export_destination_id = await newDestination(world, workspaceId);
    const early = await newProject(world, workspaceId, crypto.randomUUID());
    const job = await newExport(world, workspaceId, { bulk_export_destination_id });
    const late = await newProject(world, workspaceId, crypto.randomUUID());
    await newProject(world, workspaceId);
    await world.settle({ minutes: 1 });
    const projects = new Set((await listRuns(world, job.id)).map(({ projectId }) => projectId));
    expect([...projects].sort()).toEqual([early, late].sort());

    world.deps.maxExperiments = 1;
    const refused = await newExport(world, workspaceId, { bulk_export_destination_id });
    await world.settle({ minutes: 1 });
    expect(await exportRow(world, refused.id)).toMatchObject({
      status: "FAILED",
      error: "TooManyExperiments: 2 experiments, and an export may have 1.",
    });
  });

  it("tries 20 times 30 seconds apart, then fails with the store's reason", async () => {
    const { world, job } = await startExporting({ fault: () => ({ kind: "status", status: 503, code: "SlowDown" }) });
    await world.settle({ minutes: 15 });
    const row = await exportRow(world, job.id);
    expect((row.finishedAt ?? 0) - (row.startedAt ?? 0)).toBe(20 * 30_000);
    expect(row).toMatchObject({ status: "FAILED", error: "SlowDown: The store says SlowDown." });
    const runs = await listRuns(world, job.id);
    const failed = runs.find(({ status }) => status === "FAILED");
    expect(Object.keys(failed?.errors ?? {})).toHaveLength(21);
    expect(runs.every(({ status }) => ["FAILED", "CANCELLED"].includes(status))).toBe(true);
  });

  it("fails at once when the credentials or the bucket are wrong", async () => {
    const { world, job } = await startExporting({
      fault: () => ({ kind: "status", status: 403, code: "AccessDenied" }),
    });
    await world.settle({ minutes: 1 });
    expect(await exportRow(world, job.id)).toMatchObject({
      status: "FAILED",
      error: "AccessDenied: The store says AccessDenied.",
    });
    expect(JSON.stringify(await listRuns(world, job.id))).not.toContain("the-secret-of-the-tests");
  });

  it("writes a file again that the store acknowledged and does not hold", async () => {
    let lies = 2;
    const { world, job } = await startExporting({
      fault: ({ method, url }) => {
        const isWrite = method === "PUT" ? !url.includes("partNumber") : url.includes("uploadId");
        return isWrite && !url.includes("tmp/") && lies-- > 0 ? { kind: "lie" } : undefined;
      },
    });
    await world.settle({ minutes: 10 });
    expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
    const errors = (await listRuns(world, job.id)).flatMap((run) => Object.values(run.errors ?? {}));
    expect(errors).toEqual([expect.stringContaining("NotStored"), expect.stringContaining("NotStored")]);
    const { manifest, rows } = await readExport(world.s3, job.id);
    expect(rows).toHaveLength(manifest?.rows ?? 0);
  });

  it("ends as TIMEDOUT after 72 hours", async () => {
    const { world, job } = await startExporting({ limits: { retryDelay: 1e9 }, fault: () => ({ kind: "reset" }) });
    await world.settle({ minutes: 2 });
    world.clock.now += 72 * 3_600_000;
    await world.settle({ minutes: 2 });
    expect(await exportRow(world, job.id)).toMatchObject({ status: "TIMEDOUT" });
    expect((await listRuns(world, job.id)).every(({ status }) => status === "TIMEDOUT")).toBe(true);
  });

  it("stops within a slice when it is cancelled, and leaves no upload open", async () => {
    const { world, job } = await startExporting();
    world.deps.at = async (point) => {
      if (point === "before complete") await cancelExport(world.deps.db, job.id, world.clock.now);
    };
    await world.settle({ minutes: 5 });
    expect(await exportRow(world, job.id)).toMatchObject({ status: "CANCELLED" });
    expect((await listRuns(world, job.id)).every(({ status }) => status === "CANCELLED")).toBe(true);
    expect(world.s3.uploads.size).toBe(0);
    const { manifest, keys } = await readExport(world.s3, job.id);
    expect(manifest).toBeNull();
    expect(keys.length).toBeLessThanOrEqual(1);
  });
});

describe("uploads whose answer is lost", () => {
  const loses = (times: number) => {
    let left = times;
    return ({ method, url }: Request) =>
      method === "POST" && url.includes("uploads=") && left-- > 0 ? ({ kind: "lost" } as const) : undefined;
  };

  it("are aborted when the file is complete", async () => {
    const { world, job } = await startExporting({ limits: { partBytes: 4_096 }, fault: loses(1) });
    await world.settle({ minutes: 5 });
    expect((await exportRow(world, job.id)).status).toBe("COMPLETED");
    expect(world.s3.requests.some(({ query }) => query.includes("partNumber"))).toBe(true);
    expect(world.s3.uploads.size).toBe(0);
  });

  it("are aborted when the export is cancelled before its worker learns the id", async () => {
    const { world, job } = await startExporting({ limits: { partBytes: 4_096 }, fault: loses(1_000) });
    await world.settle({ minutes: 1 });
    expect(world.s3.uploads.size).toBeGreaterThan(0);
    await cancelExport(world.deps.db, job.id, world.clock.now);
    await world.settle({ minutes: 5 });
    expect(world.s3.uploads.size).toBe(0);
  });
});

describe("the manifest", () => {
  it("of many runs is read from the ledger in pages and uploaded in parts", { timeout: 180_000 }, async () => {
    const world = newWorld({ limits: { partBytes: 4_096, runsPerExport: 1_000, inFlight: 1_000 } });
    const session_id = await newProject(world, workspaceId);
    const days = 450;
    world.runs = makeRuns({
      tenantId: workspaceId,
      projectId: session_id,
      from: DAY_1,
      spread: days * MICROS_PER_DAY,
      count: 40,
      seed: 3,
    });
    for (const { start_time } of world.runs) await registerDay(world, workspaceId, session_id, start_time);
    const job = await newExport(world, workspaceId, {
      bulk_export_destination_id: await newDestination(world, workspaceId),
      session_id,
      end_time: DAY_1 + days * MICROS_PER_DAY,
    });
    await world.settle({ minutes: 2 });
    const { manifest, keys } = await readExport(world.s3, job.id);
    expect(manifest?.partitions).toHaveLength(days);
    expect(new Set(manifest?.partitions.map(({ day }) => day)).size).toBe(days);
    expect(manifest?.rows).toBe(40);
    expect(manifest?.partitions.flatMap(({ files }) => files.map(({ key }) => key)).toSorted()).toEqual(keys);
    const written = world.s3.requests.filter(({ key }) => key.endsWith("_manifest.json"));
    expect(written.filter(({ query }) => query.includes("partNumber")).length).toBeGreaterThan(5);
    expect(world.s3.uploads.size).toBe(0);
  });
});

describe("waiting exports", () => {
  it("start as others end, 15 of a workspace at a time, oldest first", async () => {
    const world = newWorld();
    const projectId = await newProject(world, workspaceId);
    const bulk_export_destination_id = await newDestination(world, workspaceId);
    const ids: string[] = [];
    for (let n = 0; n < 17; n++) {
      world.clock.now++;
      ids.push((await newExport(world, workspaceId, { bulk_export_destination_id, session_id: projectId })).id);
    }
    const statuses = await Promise.all(ids.map(async (id) => (await exportRow(world, id)).status));
    expect(statuses).toEqual([...Array.from({ length: 15 }, () => "RUNNING"), "CREATED", "CREATED"]);
    await world.settle({ minutes: 1 });
    const ended = await Promise.all(ids.map(async (id) => (await exportRow(world, id)).status));
    expect(new Set(ended)).toEqual(new Set(["COMPLETED"]));
  });

  it("do not wait behind another workspace's long one: its worker stops for those that wait", async () => {
    const world = newWorld();
    const session_id = await newProject(world, workspaceId);
    const bulk_export_destination_id = await newDestination(world, workspaceId);
    const job = await newExport(world, workspaceId, { bulk_export_destination_id, session_id });
    const readCompleted = async () => (await readProgress(world.deps.db, [job.id])).get(job.id)?.completed;
    await advance(world.deps, { exportId: job.id });
    const { slots, now } = world.deps;
    for (let taken = 0; taken < LIMITS.runsPerIsolate; taken++) slots.take(bulk_export_destination_id, now());
    expect(slots.take("other", now())).toBeGreaterThan(0);

    const [first] = world.queue.filter(({ wake }) => "runId" in wake);
    await advance(world.deps, first!.wake);
    expect(await readCompleted()).toBe(1);
    slots.give(bulk_export_destination_id);
    slots.take("other", now());
    await world.settle({ minutes: 1 });
    expect((await exportRow(world, job.id)).status).toBe("COMPLETED");
  });

  it("name their destination in the sweep's messages too, so that these share its slots", async () => {
    const world = newWorld();
    const session_id = await newProject(world, workspaceId);
    const bulk_export_destination_id = await newDestination(world, workspaceId);
    const job = await newExport(world, workspaceId, { bulk_export_destination_id, session_id });
    await advance(world.deps, { exportId: job.id });
    world.queue.length = 0;
    world.clock.now += LIMITS.resendAfter + 1;
    await sweep(world.deps);
    const wakes = world.queue.map(({ wake }) => wake).filter((wake) => "runId" in wake);
    expect(wakes).not.toEqual([]);
    for (const wake of wakes) expect(wake.destinationId).toBe(bulk_export_destination_id);
  });
});

describe("messages for runs", () => {
  const DAYS = 12;

  async function ofDays() {
    const world = newWorld();
    const session_id = await newProject(world, workspaceId);
    const from = { tenantId: workspaceId, projectId: session_id, from: DAY_1, spread: DAYS * MICROS_PER_DAY, seed: 7 };
    world.runs = makeRuns({ ...from, count: 60 });
    for (let day = 0; day < DAYS; day++)
      await registerDay(world, workspaceId, session_id, DAY_1 + day * MICROS_PER_DAY);
    const job = await newExport(world, workspaceId, {
      bulk_export_destination_id: await newDestination(world, workspaceId),
      session_id,
      end_time: DAY_1 + DAYS * MICROS_PER_DAY,
    });
    const listSent = () => world.queue.filter(({ wake }) => "runId" in wake);
    await advance(world.deps, { exportId: job.id });
    return { world, job, listSent };
  }

  it("are few when its runs take a moment, for one worker does them all", async () => {
    const { world, job, listSent } = await ofDays();
    expect(listSent()).toHaveLength(4);
    const [first] = listSent();
    await advance(world.deps, first!.wake);
    expect(listSent()).toHaveLength(4);
    expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
  });

  it("are more when a worker is busy for longer, so that others help", async () => {
    const { world, listSent } = await ofDays();
    world.deps.at = async (point) => {
      if (point === "after commit") world.clock.now += 1_500;
    };
    const [first] = listSent();
    await advance(world.deps, first!.wake);
    expect(listSent().length).toBeGreaterThan(4);
  });
});

describe("days without runs", () => {
  it("are complete when the export is planned, without a message each", async () => {
    const world = newWorld();
    const session_id = await newProject(world, workspaceId);
    const days = 365;
    world.runs = makeRuns({
      tenantId: workspaceId,
      projectId: session_id,
      from: DAY_1,
      spread: MICROS_PER_DAY,
      count: 5,
      seed: 4,
    });
    const job = await newExport(world, workspaceId, {
      bulk_export_destination_id: await newDestination(world, workspaceId),
      session_id,
      start_time: DAY_1 - (days - 1) * MICROS_PER_DAY,
      end_time: DAY_1 + MICROS_PER_DAY,
    });
    let messages = 0;
    await world.settle({
      minutes: 1,
      handle: async (wake) => {
        messages += 1;
        await advance(world.deps, wake);
      },
    });
    expect(messages).toBeLessThanOrEqual(3);
    const { manifest } = await readExport(world.s3, job.id);
    expect(manifest?.rows).toBe(5);
    expect(manifest?.partitions).toHaveLength(days);
    expect(new Set(manifest?.partitions.map(({ day }) => day)).size).toBe(days);
  });

  it("stay open while they are not over, because runs may still arrive", async () => {
    const world = newWorld();
    const session_id = await newProject(world, workspaceId);
    const tomorrow = world.clock.now * 1000 + MICROS_PER_DAY;
    const job = await newExport(world, workspaceId, {
      bulk_export_destination_id: await newDestination(world, workspaceId),
      session_id,
      start_time: tomorrow - 3 * MICROS_PER_DAY,
      end_time: tomorrow,
    });
    await advance(world.deps, { exportId: job.id });
    const { runs, completed } = (await readProgress(world.deps.db, [job.id])).get(job.id)!;
    expect(runs - completed).toBe(1);
  });
});
