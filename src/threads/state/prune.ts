/** Deletions of checkpoints. What later checkpoints are replayed from is stored in them first, through the graph. */
import { undoResponses } from "../interrupts/responses.ts";
import { logError } from "../../lib/log.ts";
import { readSnapshot } from "../../runtime/state.ts";
import { type CheckpointEntry, replayedChannels } from "../checkpoints/checkpoint.ts";
import type { ThreadContext } from "../context.ts";
import type { Json } from "../../lib/json.ts";
import { Emitter } from "../log/emit.ts";
import { type ThreadOwner, withoutRun } from "../record.ts";
import type { RunRecord } from "../run.ts";
import type { Interrupts } from "../types.ts";
import { graphOfThread, refresh, saver } from "./state.ts";

/** Of the runner: what excludes runs from a change of the state. */
interface Exclusive {
  busy: boolean;
  exclusively<T>(work: () => Promise<T>): Promise<T>;
}

/** Deletes all checkpoints but those from which the thread continues. Called while no run is in flight. */
export async function keepLatest(context: ThreadContext): Promise<void> {
  const { checkpoints, eventLog } = context;
  const snapshots = await readReplayed(context, checkpoints.live());
  const { record } = context;
  if (!record) return;
  const { prune: _prune, ttl, ...rest } = record;
  const kept = {
    ...rest,
    ...(ttl && { ttl: { ...ttl, ...(ttl.strategy === "keep_latest" && { kept: true as const }) } }),
  };
  eventLog.flush();
  const replaced = checkpoints.withValues(snapshots);
  eventLog.due(() => {
    checkpoints.keepLatest(replaced);
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

/** Deletes a run that has ended, its checkpoints and its writes. The thread then shows its latest checkpoint. */
export async function removeRun(context: ThreadContext, runId: string, busy: () => boolean): Promise<void> {
  const { checkpoints, eventLog, tables } = context;
  const snapshots = await readReplayed(context, checkpoints.after(runId));
  eventLog.flush();
  const replaced = checkpoints.withValues(snapshots);
  const before = asTexts(checkpoints.interrupts());
  const run = context.run(runId);
  let undone: string[] = [];
  let { record } = context;
  eventLog.due(() => {
    tables.deleteRun(runId);
    checkpoints.removeRun(runId, replaced);
    record = recordWithout(context, run, busy());
    if (record && record !== context.record) context.writeRecord(record);
    const again = [...asTexts(checkpoints.interrupts())].filter(([id, text]) => before.get(id) !== text);
    undone = undoResponses(
      context,
      runId,
      again.map(([id]) => id),
    );
  });
  eventLog.flush();
  if (context.gone) return;
  if (record) context.keepRecord(record);
  askAgain(context, runId, undone);
  // The end of a run in flight writes the record.
  if (busy()) return;
  const graph = await graphOfThread(context, "threads.read").catch((error: unknown) => {
    logError(error, { thread: context.threadId, while: "reading the state after a run was deleted" });
    return undefined;
  });
  if (graph && !busy()) await refresh(context, graph);
}

/**
 * The record without the run: its graph and assistant are those of the latest checkpoint that is left, as its values are; without
 * one, those of before the run. While a run is in flight they are that run's.
 */
function recordWithout({ record, checkpoints }: ThreadContext, run: RunRecord | undefined, busy: boolean) {
  if (!record || !run || busy) return record;
  const left = checkpoints.get("")?.metadata as ThreadOwner | undefined;
  return withoutRun(record, run.request, left ?? run.outcome.replaced);
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

/** The values of channels that LangGraph replays from earlier checkpoints, by checkpoint and channel. */
async function readReplayed(context: ThreadContext, entries: CheckpointEntry[]): Promise<Map<CheckpointEntry, Json>> {
  const snapshots = new Map<CheckpointEntry, Json>();
  const replayed = entries.filter((entry) => replayedChannels(entry).length > 0);
  if (replayed.length === 0) return snapshots;
  try {
    const graph = await graphOfThread(context, "threads.read");
    for (const entry of graph ? replayed : []) {
      const at = { threadId: context.threadId, checkpointId: entry.id, checkpointNs: entry.ns };
      const { values } = await readSnapshot(graph as NonNullable<typeof graph>, saver(context), at);
      const channels = replayedChannels(entry).map((channel) => [channel, (values as Json)[channel]]);
      snapshots.set(entry, Object.fromEntries(channels) as Json);
    }
  } catch (error) {
    // Without the graph the earlier checkpoints stay.
    logError(error, { thread: context.threadId, while: "reading the values of channels that are replayed" });
  }
  return snapshots;
}
