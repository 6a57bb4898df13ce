/** The sweep of every minute: it spawns what is due, and wakes what got lost. It does no work itself. */
import { type Deps, createDeps } from "./deps.ts";
import { startWaiting } from "./ledger/jobs.ts";
import { dueSchedules, spawn, takeIdleJobs, takeLostRuns, claimOrphanedUploads, timeOut } from "./ledger/sweep.ts";
import { countForQuota, type ExportRow } from "./store.ts";
import { HOUR_MICROS } from "../traces/time.ts";

/** Late data has this long to arrive (specification 3.3). Microseconds. */
const SPAWN_DELAY = 600_000_000;
/** The most windows that a sweep spawns for one schedule, and for all schedules. */
const CATCH_UP = 20;
const SPAWNED_AT_ONCE = 100;

/** Window k of a schedule, k from 1: [start + (k-1)h, start + kh), due 10 minutes after its end. Microseconds. */
export function scheduleWindow(startTime: number, intervalHours: number, k: number) {
  const interval = intervalHours * HOUR_MICROS;
  const endTime = startTime + k * interval;
  return { startTime: endTime - interval, endTime, dueAt: endTime + SPAWN_DELAY };
}

/** The cron trigger's handler. Any number of sweeps at a time does no harm. */
export async function schedule(env: Env): Promise<void> {
  await sweep(createDeps(env));
}

/** Spawns what is due, ends what took too long, and sends again what got lost. */
export async function sweep(deps: Deps): Promise<void> {
  const { db, limits } = deps;
  const now = deps.now();
  await spawnDue(deps);
  await timeOut(db, now - limits.timeout, now);
  const started = await startWaiting(db, limits.exportsPerWorkspace, now);
  const idle = await takeIdleJobs(db, now, now + limits.resendAfter);
  for (const exportId of new Set([...started, ...idle])) await deps.send({ exportId });
  const lost = await takeLostRuns(db, now - limits.resendAfter, now);
  const orphaned = await claimOrphanedUploads(db, now);
  for (const message of [...lost, ...orphaned]) await deps.send(message);
}

/** Spawns the due windows of every active schedule. */
export async function spawnDue(deps: Deps): Promise<void> {
  let left = SPAWNED_AT_ONCE;
  for (const due of await dueSchedules(deps.db, deps.now() * 1000, SPAWN_DELAY)) {
    if (left === 0) return;
    left -= await catchUp(deps, due, Math.min(CATCH_UP, left));
  }
}

/** Spawns the windows of a schedule that are due, oldest first, within the workspace's quota. Returns their number. */
async function catchUp(deps: Deps, due: ExportRow, most: number): Promise<number> {
  const now = deps.now();
  const { recent } = await countForQuota(deps.db, due.workspaceId, now - HOUR_MICROS / 1000);
  const room = Math.min(most, deps.limits.spawnedPerHour - recent);
  let schedule = due;
  for (let made = 0; made < room; made++) {
    const { startTime, endTime, dueAt } = scheduleWindow(due.startTime, due.intervalHours ?? 1, schedule.spawned + 1);
    if (dueAt > now * 1000) return made;
    if (!(await spawn(deps.db, schedule, { id: deps.newId(), startTime, endTime, now }))) return made;
    schedule = { ...schedule, spawned: schedule.spawned + 1 };
  }
  return Math.max(0, room);
}
