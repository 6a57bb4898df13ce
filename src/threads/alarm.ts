/** One alarm for everything the thread must do later. */
import { logError } from "../http/log.ts";
import { compact } from "./compaction.ts";
import type { Outbox } from "./tasks/outbox.ts";
import type { ThreadContext } from "./context.ts";
import type { ThreadRecord } from "./record.ts";
import type { Runner } from "./runs/runner.ts";

/** While a run is open, the alarm fires at this interval, so that a run whose process stopped is resumed. */
const WATCHDOG_MS = 4_000;
const REPROJECT_MS = 2_000;

/**
 * Sets the alarm to the earliest thing due. An earlier alarm that is already set is kept: it finds nothing to do and
 * sets the next one. Moving it at each run's end would write a row more a run.
 */
export function armAlarm(context: ThreadContext, runner: Runner): void {
  const due = nextDue(context, runner, Date.now());
  if (due === undefined || (context.alarmAt !== undefined && context.alarmAt <= due)) return;
  context.alarmAt = due;
  context.ctx.waitUntil(context.ctx.storage.setAlarm(due));
}

function nextDue({ record, tables, stale }: ThreadContext, runner: Runner, now: number): number | undefined {
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
export async function onAlarm(
  context: ThreadContext,
  runner: Runner,
  outbox: Outbox,
  forget: () => Promise<void>,
): Promise<void> {
  context.alarmAt = undefined;
  try {
    const now = Date.now();
    const { record } = context;
    const isDelivered = context.tables.outbox.nextDue() === undefined;
    if (isDelivered && (record?.temporary?.until ?? Infinity) <= now) return await forget();
    if (record?.ttl && record.ttl.expires <= now && !runner.busy) {
      if (record.ttl.strategy === "delete") return await forget();
      keepLatest(context, record);
    }
    runner.next();
    if (!runner.busy && (record?.compacted?.due ?? Infinity) <= now) compact(context);
    if (context.stale) await context.project(runner.busy);
    await outbox.deliver();
    if (context.tables.outbox.spent && context.record) context.saveRecord(context.record);
    context.eventLog.flush();
  } catch (error) {
    logError(error, { thread: context.threadId, while: "its alarm" });
  }
  armAlarm(context, runner);
  // The platform deletes an alarm that has come, in a transaction of its own after this one.
  if (context.alarmAt === undefined && context.record) context.ctx.waitUntil(context.ctx.storage.deleteAlarm());
}

function keepLatest(context: ThreadContext, { ttl: _ttl, ...record }: ThreadRecord): void {
  context.checkpoints.keepLatest();
  context.saveRecord(record);
}
