import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { bulkExports } from "../../src/exports/table.ts";
import { spawnDue, sweep, scheduleWindow } from "../../src/exports/schedule.ts";
import { cancelExport } from "../../src/exports/store.ts";
import { newCaller } from "../support/caller.ts";
import { generator, SEED } from "../support/random.ts";
import { SOAK } from "../support/thorough.ts";
import { DAY_1, newDestination, newExport, newProject, newWorld, type World } from "./support.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-01-01T00:00:00Z");
/** How long schedules are simulated. */
const DAYS = SOAK ? 365 : 100;

let workspaceId: string;

beforeEach(async () => {
  ({ workspaceId } = await newCaller());
});

async function createScheduled(world: World, intervalHours: number) {
  return newExport(world, workspaceId, {
    bulk_export_destination_id: await newDestination(world, workspaceId),
    session_id: await newProject(world, workspaceId),
    interval_hours: intervalHours,
    export_fields: ["id", "name"],
    filter: 'eq(run_type, "llm")',
  });
}

async function listSpawned(world: World, id: string) {
  return world.deps.db
    .select()
    .from(bulkExports)
    .where(eq(bulkExports.sourceExportId, id))
    .orderBy(bulkExports.startTime)
    .all();
}

/** A world in which spawned exports are not worked on. */
function idleWorld(now: number): World {
  return newWorld({ now, limits: { exportsPerWorkspace: 0 } });
}

describe("the windows of a schedule", () => {
  it("are [start + (k-1)h, start + kh), due ten minutes after their end", () => {
    const hours = 3_600_000_000;
    expect(scheduleWindow(DAY_1, 6, 1)).toEqual({
      startTime: DAY_1,
      endTime: DAY_1 + 6 * hours,
      dueAt: DAY_1 + 6 * hours + 600_000_000,
    });
    expect(scheduleWindow(DAY_1, 6, 4).startTime).toBe(DAY_1 + 18 * hours);
  });

  it("are spawned at that minute and not before, with what the schedule says", async () => {
    const world = idleWorld(START);
    const schedule = await createScheduled(world, 24);
    world.clock.now = START + 24 * HOUR + 10 * MINUTE - 1;
    await sweep(world.deps);
    expect(await listSpawned(world, schedule.id)).toEqual([]);
    world.clock.now++;
    await sweep(world.deps);
    expect(await listSpawned(world, schedule.id)).toMatchObject([
      {
        startTime: DAY_1,
        endTime: DAY_1 + 86_400_000_000,
        intervalHours: null,
        sourceExportId: schedule.id,
        filter: schedule.filter,
        exportFields: ["id", "name"],
        compression: schedule.compression,
        sessionId: schedule.sessionId,
        destinationId: schedule.destinationId,
      },
    ]);
  });

  it(
    `are each spawned once in ${DAYS} simulated days of cron firing none, one or two times a minute`,
    { timeout: 180_000 },
    async () => {
      const random = generator(SEED);
      const world = idleWorld(START);
      const schedules = [
        await createScheduled(world, 73),
        await createScheduled(world, 168),
        await createScheduled(world, 121),
      ];
      const end = START + DAYS * 24 * HOUR;
      while (world.clock.now < end) {
        // Only the minutes around which something can be due are walked through; the others find nothing to do.
        const next = Math.min(...(await Promise.all(schedules.map(async ({ id }) => findDue(world, id)))));
        world.clock.now = Math.max(world.clock.now, Math.min(next, end) - 2 * MINUTE);
        const away = random() < 0.05 ? Math.floor(random() * 90) : 0;
        world.clock.now += away * HOUR;
        for (let minute = 0; minute < 4; minute++) {
          world.clock.now += MINUTE;
          const fires = Math.floor(random() * 3);
          await Promise.all(Array.from({ length: fires }, () => spawnDue(world.deps)));
        }
      }
      for (let n = 0; n < 40; n++) await spawnDue(world.deps);
      for (const { id, intervalHours } of schedules) {
        const hours = (intervalHours ?? 1) * 3_600_000_000;
        const windows = (await listSpawned(world, id)).map(({ startTime, endTime }) => [startTime, endTime]);
        const count = Math.floor((world.clock.now * 1000 - 600_000_000 - DAY_1) / hours);
        const expected = Array.from({ length: count }, (_, k) => [DAY_1 + k * hours, DAY_1 + (k + 1) * hours]);
        expect(windows, `SEED=${SEED}`).toEqual(expected);
      }
    },
  );

  it("catch up within the workspace's quota", async () => {
    const world = idleWorld(START + 30 * 24 * HOUR);
    const schedule = await createScheduled(world, 1);
    for (let minute = 0; minute < 30; minute++) {
      await sweep(world.deps);
      world.clock.now += MINUTE;
    }
    expect((await listSpawned(world, schedule.id)).length).toBe(200);
    world.clock.now += HOUR;
    await sweep(world.deps);
    expect((await listSpawned(world, schedule.id)).length).toBe(220);
  });

  it("stop when the schedule is cancelled; exports that it started continue", async () => {
    const world = idleWorld(START + 25 * HOUR);
    const schedule = await createScheduled(world, 24);
    await sweep(world.deps);
    await cancelExport(world.deps.db, schedule.id, world.clock.now);
    world.clock.now += 48 * HOUR;
    await sweep(world.deps);
    expect((await listSpawned(world, schedule.id)).map(({ status }) => status)).toEqual(["CREATED"]);
  });

  it("of many schedules that were away are spawned over several sweeps", async () => {
    const world = idleWorld(START);
    const schedules: { id: string }[] = [];
    for (let n = 0; n < 7; n++) schedules.push(await createScheduled(world, 1));
    world.clock.now = START + 20 * HOUR + 10 * MINUTE;
    const countSpawned = async () => {
      const lists = await Promise.all(schedules.map(async ({ id }) => (await listSpawned(world, id)).length));
      return lists.reduce((sum, length) => sum + length, 0);
    };
    // An invocation may ask D1 a thousand times.
    await spawnDue(world.deps);
    expect(await countSpawned()).toBe(100);
    await spawnDue(world.deps);
    expect(await countSpawned()).toBe(140);
  });
});

async function findDue(world: World, id: string): Promise<number> {
  const row = await world.deps.db.select().from(bulkExports).where(eq(bulkExports.id, id)).get();
  return scheduleWindow(row?.startTime ?? 0, row?.intervalHours ?? 1, (row?.spawned ?? 0) + 1).dueAt / 1000;
}
