/** One alarm for everything the thread must do later. */
import { isKeyDestroyed } from "../../access/encryption/ring.ts";
import { logError } from "../../lib/log.ts";
import { compact } from "../runs/ending.ts";
import { keepLatest } from "../state/prune.ts";
import type { Outbox } from "../runs/outbox.ts";
import type { ThreadContext } from "../context.ts";
import type { ThreadRecord } from "../record.ts";
import type { Runner } from "../runs/runner.ts";

/**
 * While a run is open, the alarm fires so that a run whose process stopped is resumed: first after the least time, then after
 * twice the time that the run has taken so far, up to the most. Setting an alarm is a row written. The reader of a run connects
 * again at once, which resumes it too.
 */
const WATCHDOG_MS = { least: 4_000, read: 12_000, most: 30_000 };
const REPROJECT_MS = 2_000;
/** The pause after work that needs rows whose key is destroyed: it will fail again, and other work may be due later. */
const UNREADABLE_MS = 24 * 3_600_000;

/**
 * Sets the alarm to the earliest thing due. An earlier alarm that is already set is kept: it finds nothing to do and
 * sets the next one. Moving it at each run's end would write a row more a run.
 */
export function armAlarm(context: ThreadContext, runner: Runner): void {
  // After a deletion the alarm is that of the parts that were made then.
  if (context.gone) return;
  const { alarmAt = Infinity } = context;
  const now = Date.now();
  const next = nextDue(context, runner, now);
  const due = Math.min(next, unlessKept(context, Math.min(alarmAt, next), now));
  if (due < alarmAt) setAlarm(context, due);
}

/**
 * Sets the alarm of an object that its first call finds without one: the platform drops an alarm that has failed six times. An index
 * row that may be behind is not enough for one, because it is so of each object that wakes.
 */
export async function restoreAlarm(context: ThreadContext, runner: Runner): Promise<void> {
  const standing = await context.ctx.storage.getAlarm();
  if (standing !== null || context.alarmAt !== undefined || context.gone) return;
  const now = Date.now();
  const isDue = (context.tables.outbox.nextDue() ?? Infinity) <= now;
  const due = Math.min(nextDue(context, runner, now, false), isDue ? now + WATCHDOG_MS.least : Infinity);
  if (due < Infinity) setAlarm(context, due);
}

/**
 * What is being carried out now is due for the case that the process stops first. Any alarm of the watchdog's time is soon
 * enough for that.
 */
function unlessKept({ isProjecting, tables }: ThreadContext, alarmAt: number, now: number): number {
  const isUnderWay = isProjecting || (tables.outbox.nextDue() ?? Infinity) <= now;
  return isUnderWay && alarmAt > now + WATCHDOG_MS.most ? now + WATCHDOG_MS.least : Infinity;
}

function setAlarm(context: ThreadContext, at: number): void {
  context.alarmAt = at;
  context.ctx.waitUntil(context.ctx.storage.setAlarm(at));
}

function watchdogMs({ open }: Runner, now: number, isRead: boolean): number {
  const running = open.find(({ status }) => status === "running");
  const age = running ? now - running.outcome.updated : 0;
  return Math.min(WATCHDOG_MS.most, Math.max(isRead ? WATCHDOG_MS.read : WATCHDOG_MS.least, 2 * age));
}

function nextDue(context: ThreadContext, runner: Runner, now: number, isBehind = context.stale): number {
  const { record, tables, eventLog, isProjecting } = context;
  const outbox = tables.outbox.nextDue() ?? Infinity;
  const dues = [
    runner.busy ? (runner.slotsBy ?? now + watchdogMs(runner, now, eventLog.isRead)) : undefined,
    ...runner.open.filter((run) => run.due > now).map((run) => run.due),
    isBehind && !isProjecting ? now + REPROJECT_MS : undefined,
    outbox > now ? outbox : undefined,
    // A deletion waits for every run that was accepted, other work for the end of the run in flight.
    runner.open.length > 0 ? undefined : deletionTime(record),
    runner.busy || record?.ttl?.strategy !== "keep_latest" || record.ttl.kept ? undefined : record.ttl.expires,
    runner.busy ? undefined : record?.compacted?.due,
    runner.busy || !record?.prune ? undefined : now,
    runner.removesAt,
    tables.tombstones.nextDue(),
  ].filter((due) => due !== undefined);
  return Math.min(...dues);
}

/** When the thread is to be deleted: its TTL has ended, or the run for which it was made was over some time ago. */
function deletionTime({ ttl, temporary, kept }: Partial<ThreadRecord> = {}): number | undefined {
  const expires = ttl?.strategy === "delete" ? ttl.expires : Infinity;
  const due = temporary?.until ?? Math.min(expires, kept?.until ?? Infinity);
  return due === Infinity ? undefined : due;
}

/**
 * Runs what is due. `forget` deletes the thread if it is still due then, and says whether it did. Never throws: after six
 * failures the platform stops retrying the alarm.
 */
export async function onAlarm(
  context: ThreadContext,
  runner: Runner,
  outbox: Outbox,
  forget: (isDue: () => boolean) => Promise<boolean>,
): Promise<void> {
  context.alarmAt = undefined;
  try {
    const isDue = () =>
      runner.open.length === 0 && !runner.isHeld && (deletionTime(context.record) ?? Infinity) <= Date.now();
    if (isDue() && (await forget(isDue))) return;
    const now = Date.now();
    const { record } = context;
    const keeps = record?.ttl?.strategy === "keep_latest" && !record.ttl.kept && record.ttl.expires <= now;
    if ((runner.removesAt ?? Infinity) <= now) await runner.remove();
    runner.next();
    context.tables.tombstones.clean(now);
    if ((keeps || record?.prune) && !runner.busy) await runner.exclusively(() => keepLatest(context));
    if (!runner.busy && (record?.compacted?.due ?? Infinity) <= now) compact(context);
    if (context.stale) await context.project(runner);
    await outbox.deliver();
    if (context.tables.outbox.spent && context.record) context.saveRecord(context.record);
    // What was carried out leaves the outbox. The tokens of a run in flight wait for its next fact.
    if (!runner.busy) context.eventLog.flush();
    if (!context.record) context.clear();
    armAlarm(context, runner);
    // The platform deletes an alarm that has come, in a transaction of its own after this one.
    if (context.alarmAt === undefined && context.record) context.ctx.waitUntil(context.ctx.storage.deleteAlarm());
  } catch (error) {
    logError(error, { thread: context.threadId, while: "its alarm" });
    // What failed is still due. It must not fail again at once, and again.
    const pause = isKeyDestroyed(error) ? UNREADABLE_MS : WATCHDOG_MS.least;
    if (!context.gone) setAlarm(context, Date.now() + pause);
  }
}
