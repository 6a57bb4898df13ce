/** One alarm for everything the thread must do later. */
import { logError } from "../http/log.ts";
import { compact } from "./log/compact.ts";
import { deliver } from "./tasks/outbox.ts";
import type { ThreadParts } from "./context.ts";
import type { ThreadRecord } from "./record.ts";
import type { Runner } from "./runs/runner.ts";

/** While a run is open, the alarm fires at this interval, so that a run whose process stopped is resumed. */
const WATCHDOG_MS = 4_000;
const REPROJECT_MS = 2_000;

/**
 * Sets the alarm to the earliest thing due. An earlier alarm that is already set is kept: it finds nothing to do and
 * sets the next one. Moving it at each run's end would write a row more a run.
 */
export function armAlarm(parts: ThreadParts, runner: Runner): void {
  const due = nextDue(parts, runner, Date.now());
  if (due === undefined || (parts.alarmAt !== undefined && parts.alarmAt <= due)) return;
  parts.alarmAt = due;
  parts.ctx.waitUntil(parts.ctx.storage.setAlarm(due));
}

function nextDue({ record, tables, stale }: ThreadParts, runner: Runner, now: number): number | undefined {
  const outbox = tables.outbox.nextDue();
  const dues = [
    runner.busy ? now + WATCHDOG_MS : undefined,
    ...runner.open.filter((run) => run.due > now).map((run) => run.due),
    stale ? now + REPROJECT_MS : undefined,
    // What is due already is being carried out now; this is for when that fails with the process.
    outbox !== undefined && outbox <= now ? now + WATCHDOG_MS : outbox,
    // Pending tasks of the outbox run before the thread is deleted.
    outbox === undefined ? record?.temporary?.until : undefined,
    // With a run open these wait for that run's end.
    runner.busy ? undefined : record?.ttl?.expires,
    runner.busy ? undefined : record?.compacted?.due,
  ].filter((due) => due !== undefined);
  return dues.length === 0 ? undefined : Math.min(...dues);
}

/**
 * Runs what is due. `forget` deletes the thread. Never throws: after six failures the platform stops retrying the
 * alarm.
 */
export async function onAlarm(parts: ThreadParts, runner: Runner, forget: () => Promise<void>): Promise<void> {
  parts.alarmAt = undefined;
  try {
    const now = Date.now();
    const { record } = parts;
    const told = parts.tables.outbox.nextDue() === undefined;
    if (told && (record?.temporary?.until ?? Infinity) <= now) return await forget();
    if (record?.ttl && record.ttl.expires <= now && !runner.busy) {
      if (record.ttl.strategy === "delete") return await forget();
      keepLatest(parts, record);
    }
    runner.next();
    if (!runner.busy && (record?.compacted?.due ?? Infinity) <= now) compact(parts);
    if (parts.stale) await parts.project(runner.busy);
    await deliver(parts);
    if (parts.tables.outbox.spent && parts.record) parts.saveRecord(parts.record);
    parts.journal.flush();
  } catch (error) {
    logError(error, { thread: parts.threadId, while: "its alarm" });
  }
  armAlarm(parts, runner);
  // The platform deletes an alarm that has come, in a transaction of its own after this one.
  if (parts.alarmAt === undefined && parts.record) parts.ctx.waitUntil(parts.ctx.storage.deleteAlarm());
}

function keepLatest(parts: ThreadParts, { ttl: _ttl, ...record }: ThreadRecord): void {
  parts.checkpoints.keepLatest();
  parts.saveRecord(record);
}
