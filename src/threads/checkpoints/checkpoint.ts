/** Changes of checkpoints that are stored: all of a thread, or one. Called within a transaction. */
import * as checkpoint from "@langchain/langgraph-checkpoint";
import { INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import { JOIN, TO_NODE } from "../../agents/graphs/compatibility.ts";
import { withId } from "../../runtime/older-langgraph.ts";
import { keepCurrent, NO_TASK, type SavedCheckpoint } from "../../runtime/saver.ts";
import { flatten } from "../../runtime/stored.ts";
import type { Interrupt, Interrupts } from "../types.ts";
import type { ValueRefs } from "../log/values.ts";
import type { Tables } from "../store/tables.ts";

// The writes of tasks under a checkpoint: which of the stored ones count, and which of them are questions.

/** A write as stored: task, index, channel, the value in stored form, the run that wrote it, and the task's path. */
export type StoredWrite = [
  taskId: string,
  index: number,
  channel: string,
  value: unknown,
  /** A state update has none. */
  run?: string | null,
  path?: string,
];

/**
 * LangGraph's rule: the first write of a task and an index counts. Errors, questions and answers have negative indices, and
 * replace the earlier ones of their task.
 */
export function countingWrites(stored: StoredWrite[]): StoredWrite[] {
  const bySlot = new Map<string, StoredWrite>();
  for (const write of stored) {
    const slot = `${write[0]},${write[1]}`;
    if (write[1] < 0) bySlot.delete(slot);
    if (!bySlot.has(slot)) bySlot.set(slot, write);
  }
  return [...bySlot.values()];
}

/** The questions that wait for an answer, by task, in wire form. `expand` puts long values back in. */
export function interruptsIn(stored: StoredWrite[], expand: (value: unknown) => unknown): Interrupts {
  const interrupts: Interrupts = {};
  for (const { taskId, channel, value } of waiting(stored)) {
    if (channel !== INTERRUPT) continue;
    const raised = [flatten(expand(value))].flat().map(withId) as Interrupt[];
    interrupts[taskId] = [...(interrupts[taskId] ?? []), ...raised];
  }
  return interrupts;
}

/** Whether a write is an answer that this run gave. */
export const isResumeWrite = (channel: string, run: string | null | undefined, runId: string): boolean =>
  channel === RESUME && run === runId;

/** The tasks that a run has answered, and whose questions wait again; and that of its answer without an id. */
export function unusedResumes(stored: StoredWrite[], runId: string): Set<string> {
  const answered = new Set(
    stored.flatMap(([task, , channel, , run]) => (isResumeWrite(channel, run, runId) ? task : [])),
  );
  const asking = waiting(stored).filter(({ taskId, channel }) => channel === INTERRUPT && answered.has(taskId));
  return new Set([...asking.map(({ taskId }) => taskId), ...(answered.has(NO_TASK) ? [NO_TASK] : [])]);
}

const waiting = (stored: StoredWrite[]) =>
  keepCurrent(countingWrites(stored).map(([taskId, index, channel, value]) => ({ taskId, index, channel, value })));

// A checkpoint as the thread's tables hold it.

export interface CheckpointEntry extends SavedCheckpoint {
  refs: ValueRefs;
  /** Metadata of the thread, the assistant and the run's request, as JSON or as a reference to a text of its own. */
  inherited?: unknown;
  /** Those that were stored together with it. Later ones are with a checkpoint that continues from it, or in rows of their own. */
  writes: StoredWrite[];
  /** Writes under the parent that came after the parent was stored. */
  late?: StoredDeferredWrites;
}

export interface StoredDeferredWrites {
  /** Their place among the rows of writes of the parent. */
  n: number;
  writes: StoredWrite[];
}

/** Names a checkpoint in its thread. */
export const entryKey = ({ ns, id }: Pick<CheckpointEntry, "ns" | "id">): string => `${ns}|${id}`;

/** The checkpoint without what it holds under its parent. */
export const withoutDeferred = ({ late: _late, ...entry }: CheckpointEntry): CheckpointEntry => entry;

/** Whether the channel is a key of the state, not one of LangGraph's own. */
export const isStateKey = (name: string): boolean =>
  name === "__root__" || !["__", TO_NODE, JOIN].some((start) => name.startsWith(start));

/** The keys of the state that a checkpoint knows and has no value of. Its graph says whether they are replayed (`readReplayed`). */
export const unstoredKeys = ({ checkpoint, refs }: CheckpointEntry): string[] =>
  Object.keys(checkpoint.channel_versions).filter((name) => isStateKey(name) && !(name in refs));

/** The checkpoint with the values of these channels, which are no longer replayed. */
export function withValues(entry: CheckpointEntry, refs: ValueRefs): CheckpointEntry {
  const { counters_since_delta_snapshot: counters, ...metadata } = entry.metadata;
  const left = Object.entries(counters ?? {}).filter(([channel]) => !(channel in refs));
  const rest = left.length > 0 && { counters_since_delta_snapshot: Object.fromEntries(left) };
  return { ...entry, refs: { ...entry.refs, ...refs }, metadata: { ...metadata, ...rest } };
}

/** The nearest checkpoint that is not gone, from `id` towards the first one. `parents`: those of the gone ones, by `entryKey`. */
export function nearestKept(
  ns: string,
  id: string | undefined,
  parents: ReadonlyMap<string, string | undefined>,
): string | undefined {
  const seen = new Set<string>();
  let at = id;
  while (at !== undefined && parents.has(entryKey({ ns, id: at }))) {
    if (seen.has(at)) return undefined;
    seen.add(at);
    at = parents.get(entryKey({ ns, id: at }));
  }
  return at;
}

/** Stores these checkpoints in the place of those with the same ids. */
export function replaceEntries(tables: Tables, replaced: CheckpointEntry[]): void {
  for (const entry of replaced)
    for (const pack of tables.packs.at(entry.id)) {
      const entries = JSON.parse(pack.entries) as CheckpointEntry[];
      const place = entries.findIndex((one) => entryKey(one) === entryKey(entry));
      if (place >= 0) tables.packs.set(pack, JSON.stringify(entries.with(place, entry)));
    }
}

/** Keeps a write under a checkpoint. */
type Keep = (write: StoredWrite, at: { ns: string; id: string }) => boolean;

/**
 * Changes every checkpoint: those that are gone are removed with their writes, others get the form that `change` gives. Of late writes that
 * a checkpoint holds under its parent, those are left for which `keep` holds.
 */
export function rewriteAll(
  tables: Tables,
  isGone: (ns: string, id: string) => boolean,
  keep: Keep,
  change: (entry: CheckpointEntry) => CheckpointEntry,
): void {
  const heads = new Map<string, string>();
  const gone: CheckpointEntry[] = [];
  const orphans: CheckpointEntry[] = [];
  for (const pack of tables.packs.all()) {
    const before = JSON.parse(pack.entries) as CheckpointEntry[];
    const left = before.filter(({ ns, id }) => !isGone(ns, id));
    const changed = left.map((entry) => deferredKept(change(entry), keep, entry.parentId, isGone));
    for (const { ns, id } of left) if (id > (heads.get(ns) ?? "")) heads.set(ns, id);
    for (const entry of before) {
      if (!isGone(entry.ns, entry.id)) continue;
      gone.push(entry);
      if (entry.late && !isGone(entry.ns, entry.parentId ?? "")) orphans.push(entry);
    }
    if (changed.length < before.length || changed.some((entry, i) => entry !== left[i]))
      tables.packs.set(pack, JSON.stringify(changed));
  }
  for (const { ns, parentId, late } of orphans) {
    const id = parentId ?? "";
    const writes = late?.writes.filter((write) => keep(write, { ns, id })) ?? [];
    if (writes.length > 0) tables.insertWrites(ns, id, JSON.stringify(writes), late?.n);
  }
  for (const { ns, id } of gone) tables.deleteWrites(ns, id);
  for (const ns of new Set(gone.map((entry) => entry.ns))) {
    const head = heads.get(ns);
    if (head === undefined) tables.deleteHead(ns);
    else if (ns !== "") tables.setHead(ns, head);
  }
}

/** The late writes go with the parent under which they are. */
function deferredKept(
  entry: CheckpointEntry,
  keep: Keep,
  parentId: string | undefined,
  isGone: (ns: string, id: string) => boolean,
): CheckpointEntry {
  if (!entry.late) return entry;
  const at = { ns: entry.ns, id: parentId ?? "" };
  const writes = isGone(at.ns, at.id) ? [] : entry.late.writes.filter((write) => keep(write, at));
  if (writes.length === entry.late.writes.length) return entry;
  return writes.length === 0 ? withoutDeferred(entry) : { ...entry, late: { ...entry.late, writes } };
}

/** Keeps those writes under one checkpoint for which `keep` holds. */
export function filterWrites(tables: Tables, { ns, id }: CheckpointEntry, keep: (write: StoredWrite) => boolean): void {
  for (const pack of tables.packs.at(id)) {
    const entries = JSON.parse(pack.entries) as CheckpointEntry[];
    const entry = entries.find((one) => one.ns === ns && one.id === id);
    if (!entry || entry.writes.every(keep)) continue;
    entry.writes = entry.writes.filter(keep);
    tables.packs.set(pack, JSON.stringify(entries));
  }
  for (const row of tables.writesUnder(ns, id)) filterRow(tables, { ns, checkpoint_id: id, ...row }, keep);
}

/** Keeps those writes of a row for which `keep` holds. */
export function filterRow(
  tables: Tables,
  { ns, checkpoint_id, n, body }: { ns: string; checkpoint_id: string; n: number; body: string },
  keep: (write: StoredWrite) => boolean,
): void {
  const writes = JSON.parse(body) as StoredWrite[];
  if (!writes.every(keep)) tables.setWrites(ns, checkpoint_id, n, JSON.stringify(writes.filter(keep)));
}

// A project may have a LangGraph from before version 1, whose checkpoints have no snapshots of deltas: an import by name would fail its build.

export const { DeltaSnapshot } = checkpoint;
