/** Deletions of checkpoints. What later checkpoints are replayed from is stored in them first, through the graph. */
import { undoResponses } from "../interrupts/responses.ts";
import { logError } from "../../lib/log.ts";
import type { ThreadContext } from "../context.ts";
import { Emitter } from "../log/emit.ts";
import { type Removal, type ThreadOwner, withoutRun } from "../record.ts";
import type { Interrupts } from "../types.ts";
import { graphAt } from "./graph.ts";
import { readReplayed } from "./replayed.ts";
import { refresh } from "./state.ts";

/** Of the runner: what excludes runs from a change of the state. */
interface Exclusive {
  busy: boolean;
  exclusively<T>(work: () => Promise<T>): Promise<T>;
}

/** Deletes all checkpoints but those from which the thread continues. Called while no run is in flight. */
export async function keepLatest(context: ThreadContext): Promise<void> {
  const { checkpoints, eventLog } = context;
  const { values, needed } = await readReplayed(context, checkpoints.live());
  const { record } = context;
  if (!record) return;
  const { prune: _prune, ttl, ...rest } = record;
  const kept = {
    ...rest,
    ...(ttl && { ttl: { ...ttl, ...(ttl.strategy === "keep_latest" && { kept: true as const }) } }),
  };
  eventLog.flush();
  const replaced = checkpoints.withValues(values);
  eventLog.due(() => {
    checkpoints.keepLatest(replaced, needed);
    context.writeRecord(kept);
  });
  eventLog.flush();
  context.keepRecord(kept);
}

/** The same now, or after the runs in flight. False where there is no thread that is kept. */
export async function keepLatestOnce(context: ThreadContext, runner: Exclusive): Promise<boolean> {
  const { record } = context;
  if (!record || record.temporary) return false;
  if (runner.busy) context.saveRecord({ ...record, prune: true });
  else await runner.exclusively(() => keepLatest(context));
  return true;
}

/**
 * Removes the checkpoints and the writes of a deleted run. The thread then shows its latest checkpoint. Called while no run executes or
 * begins. False when checkpoints stay, because no deployed graph can read what later ones are replayed from.
 */
export async function removeRun(context: ThreadContext, removal: Removal): Promise<boolean> {
  const { run_id: runId, during } = removal;
  const { checkpoints, eventLog } = context;
  const { values, needed } = await readReplayed(context, checkpoints.after(runId));
  const isWhole = !needed.some(({ metadata }) => metadata.run_id === runId);
  eventLog.flush();
  const replaced = checkpoints.withValues(values);
  const before = asTexts(checkpoints.interrupts());
  let undone: string[] = [];
  let { record } = context;
  eventLog.due(() => {
    checkpoints.removeRun(runId, replaced, needed);
    record = recordWithout(context, removal);
    if (record && record !== context.record) context.writeRecord(record);
    const again = [...asTexts(checkpoints.interrupts())].filter(([id, text]) => before.get(id) !== text);
    undone = undoResponses(
      context,
      runId,
      again.map(([id]) => id),
    );
  });
  eventLog.flush();
  if (context.gone) return true;
  if (record) context.keepRecord(record);
  askAgain(context, runId, undone);
  const graph = await graphAt(context, "threads.read").catch((error: unknown) => {
    logError(error, { thread: context.threadId, while: "reading the state after a run was deleted" });
    return undefined;
  });
  if (graph || !checkpoints.get("")) await refresh(context, graph, during);
  return isWhole;
}

/**
 * The record without the run: its graph and assistant are those of the latest checkpoint that is left, as its values are; without one,
 * those of before the run.
 */
function recordWithout({ record, checkpoints }: ThreadContext, { owner, replaced }: Removal) {
  if (!record || !owner) return record;
  const left = checkpoints.get("")?.metadata as ThreadOwner | undefined;
  return withoutRun(record, owner, left ?? replaced);
}

/** The values of questions as JSON, by their ids. */
const asTexts = (interrupts: Interrupts): Map<string, string> =>
  new Map(Object.values(interrupts).flatMap((list) => list.map(({ id = "", value }) => [id, JSON.stringify(value)])));

/** Readers of the log that saw the answers find the questions again. */
function askAgain({ checkpoints, eventLog, values }: ThreadContext, runId: string, ids: string[]): void {
  const emitter = new Emitter(eventLog, values, runId);
  for (const { id = "", value } of Object.values(checkpoints.interrupts()).flat())
    if (ids.includes(id)) emitter.emit("input.requested", [], JSON.stringify({ interrupt_id: id, payload: value }));
  eventLog.flush();
}
