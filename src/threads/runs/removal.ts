/**
 * What a deletion or a rollback removes of a run, and when. The run is gone at once, with a tombstone for its id, and readers of the log
 * no longer get its events. Its checkpoints and writes leave the storage when no run in flight stands on them, and its events after
 * that. The thread's record has what is owed, so that a restart changes nothing.
 */
import { KEPT_MS } from "../../access/idempotency/store.ts";
import { nextErasure } from "../log/erase.ts";
import type { ThreadContext } from "../context.ts";
import type { Removal, ThreadRecord } from "../record.ts";
import { isInFlight, type RunRecord } from "../run.ts";
import { removeRun } from "../state/prune.ts";
import type { StopReason } from "../types.ts";
import type { Outbox } from "./outbox.ts";
import { fingerprintId, REPEAT_MS } from "./insert.ts";

/** Deletes the run's row. Called inside a transaction, before which the thread's row is written or after which it is. */
export function forgetRun({ tables }: ThreadContext, { id, request }: RunRecord): void {
  // Keys, firings of crons and answers of webhooks derive an id for a day at most.
  const until = request.chosen_id ? null : Date.now() + KEPT_MS;
  for (const one of [id, ...tables.runs.joinsOf(id)]) tables.tombstones.add(one, until);
  tables.deleteRun(id);
  const { fingerprint } = request;
  if (fingerprint !== undefined) tables.tombstones.add(fingerprintId(fingerprint), Date.now() + REPEAT_MS);
}

/** The record of a thread that owes a removal. */
export const withRemoval = (record: ThreadRecord, removal: Removal): ThreadRecord => ({
  ...record,
  removals: [...(record.removals ?? []), removal],
});

/** The removals that can be carried out while no run executes. */
export function dueRemovals(context: ThreadContext, open: readonly RunRecord[]): Removal[] {
  const { removals = [] } = context.record ?? {};
  return removals.filter(
    (removal) => removal.detached || !open.some((run) => isInFlight(run) && standsOn(context, run, removal)),
  );
}

/** Whether a run that waits to begin continues from what the removal takes: it names a checkpoint of it, or answers what it asked. */
function standsOn({ checkpoints }: ThreadContext, { request }: RunRecord, { run_id }: Removal): boolean {
  const { checkpoint, command } = request;
  if (!checkpoint?.checkpoint_id && command?.resume === undefined) return false;
  const from = checkpoints.get(checkpoint?.checkpoint_ns ?? "", checkpoint?.checkpoint_id ?? undefined);
  return from?.metadata.run_id === run_id;
}

/** Carries out a removal while no run begins. False when it must wait: what others need of it cannot be read without the graph. */
export async function carryOut(context: ThreadContext, removal: Removal): Promise<boolean> {
  if (!removal.detached && !(await removeRun(context, removal))) return false;
  for (let left: Removal | undefined = { ...removal, detached: true }; left;) {
    if (context.gone) return true;
    left = eraseNext(context, left);
    // A log may have gigabytes of a run: others get their turn.
    if (left) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return true;
}

/** Erases the next events of a run. Gives what is left to do. */
function eraseNext(context: ThreadContext, removal: Removal): Removal | undefined {
  const { eventLog, tables, record } = context;
  if (!record) return undefined;
  eventLog.flush();
  const { rows, next } = nextErasure(tables, removal);
  const left = next === undefined ? undefined : { ...removal, from: next };
  const others = (record.removals ?? []).filter(({ run_id }) => run_id !== removal.run_id);
  const removals = left ? [...others, left] : others;
  const changed = { ...record, removals: removals.length > 0 ? removals : undefined };
  eventLog.due(() => {
    for (const row of rows) tables.setEvents(row);
    context.writeRecord(changed);
  });
  eventLog.flush();
  context.keepRecord(changed);
  eventLog.recent.forget();
  return left;
}

/** The runs of a thread. */
interface Runs {
  open: readonly RunRecord[];
  busy: boolean;
  stop(runId: string, reason: StopReason): void;
  ended(runId: string): Promise<void>;
  delete(run: RunRecord): Promise<void>;
  remove(): Promise<void>;
}

/** Stops the run if it is open, and deletes it once the outbox does not need it. False when there is none. */
export async function deleteRun(context: ThreadContext, runner: Runs, outbox: Outbox, runId: string): Promise<boolean> {
  // An earlier attempt of the call may have recorded the deletion, before its object restarted.
  if (!context.run(runId) && !context.record?.removals?.some(({ run_id }) => run_id === runId)) return false;
  // The end of a run that is stopped deletes it, so that the next run does not begin on what it leaves.
  while (runner.open.some((run) => run.id === runId)) {
    runner.stop(runId, "rollback");
    await runner.ended(runId);
  }
  while (!outbox.isSealed(runId)) await outbox.seal(runId);
  const run = context.run(runId);
  await (run ? runner.delete(run) : runner.remove());
  await context.project(runner);
  return true;
}
