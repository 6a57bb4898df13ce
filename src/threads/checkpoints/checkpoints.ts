/**
 * The thread's checkpoints. What a flush keeps of them shares one row (a pack), found by the ids it spans; writes that
 * come in the same flush as their checkpoint are stored in its entry, later ones by `Late`.
 */
import type { Tables } from "../store/tables.ts";
import {
  type CheckpointEntry,
  entryKey,
  type StoredDeferredWrites,
  type StoredWrite,
  DeltaSnapshot,
  nearestKept,
  replaceEntries,
  withValues,
  filterRow,
  filterWrites,
  rewriteAll,
  countingWrites,
  isResumeWrite,
  interruptsIn,
  unusedResumes,
} from "./checkpoint.ts";
import { TASKS } from "@langchain/langgraph-checkpoint";
import { KEPT_MS } from "../../access/idempotency/store.ts";
import { dump, revive } from "../../runtime/stored.ts";
import type { CheckpointStorage, PutState, SavedCheckpoint, SavedWrite } from "../../runtime/saver.ts";
import type { EventLog } from "../log/event-log.ts";
import { uniqueById } from "../interrupts/waiting.ts";
import { isObject } from "../../lib/json.ts";
import { withinState } from "../limits.ts";
import type { Interrupts, StorageFigures } from "../types.ts";
import type { ValueRef, ValueRefs, ValueStore } from "../log/values.ts";

// Writes that come after their checkpoint is stored. They share the row of the checkpoint that continues from it, when one
// flush has both. Otherwise they have a row of their own.

/** Packs that may be between a checkpoint and the one that holds its late writes: a lookup reads all packs between them. */
const REACH = 4;

export class DeferredWrites {
  /** The checkpoints of the packs that were written last, oldest first, by `entryKey`, with the place of the next late writes. */
  #recent: Map<string, number>[] = [];

  constructor(private readonly tables: Tables) {}

  /** Writes `writes` under a checkpoint. `entries`: the checkpoints that the same flush writes after this call. */
  write(at: { ns: string; id: string; writes: StoredWrite[] }, entries: CheckpointEntry[]): void {
    const { ns, id, writes } = at;
    const key = entryKey(at);
    const recent = this.#recent.find((pack) => pack.has(key));
    const n = recent?.get(key) ?? Math.max(-1, ...this.#placed(ns, id).map((one) => one.n)) + 1;
    recent?.set(key, n + 1);
    const child = recent && entries.find((one) => one.ns === ns && one.parentId === id && !one.late);
    if (child) child.late = { n, writes };
    else this.tables.insertWrites(ns, id, JSON.stringify(writes), n);
  }

  /** These checkpoints are written. */
  wrote(entries: CheckpointEntry[]): void {
    if (entries.length === 0) return;
    this.#recent = [...this.#recent, new Map(entries.map((entry) => [entryKey(entry), 0]))].slice(-REACH);
  }

  /** What is stored under a checkpoint apart from it, in the order in which it came. */
  stored(ns: string, id: string): StoredWrite[] {
    return this.#placed(ns, id).flatMap(({ writes }) => writes);
  }

  #placed(ns: string, id: string): StoredDeferredWrites[] {
    const rows = this.tables
      .writesUnder(ns, id)
      .map(({ n, body }) => ({ n, writes: JSON.parse(body) as StoredWrite[] }));
    const late = this.tables.packs
      .at(id)
      .flatMap(({ entries }) => JSON.parse(entries) as CheckpointEntry[])
      .flatMap((entry) => (entry.late && entry.ns === ns && entry.parentId === id ? [entry.late] : []));
    return [...late, ...rows].sort((a, b) => a.n - b.n);
  }
}

/** Characters of inherited metadata that each checkpoint repeats. Longer ones are a text that checkpoints share. */
const MOST_INHERITED = 1_000;

const newestFirst = (a: CheckpointEntry, b: CheckpointEntry): number => (a.id < b.id ? 1 : -1);

/** How many namespaces are kept. A graph calls nested graphs one after the other, each in a namespace of its own. */
const MAX_NAMESPACES = 32;

/** The newest checkpoints of the namespaces used last. A checkpoint that is no longer here is read from the tables. */
export class NewestCheckpoints<Entry> {
  readonly #entries = new Map<string, Entry>();

  get(ns: string): Entry | undefined {
    const entry = this.#entries.get(ns);
    if (entry) this.set(ns, entry);
    return entry;
  }

  set(ns: string, entry: Entry): void {
    // A map keeps the order of insertion: what is used moves to the end.
    this.#entries.delete(ns);
    this.#entries.set(ns, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_NAMESPACES && oldest !== undefined) this.#entries.delete(oldest);
  }

  clear(): void {
    this.#entries.clear();
  }
}

export class Checkpoints implements CheckpointStorage {
  /** Not yet flushed, by namespace and id. */
  #pending = new Map<string, CheckpointEntry>();
  /** Those pending that replace a stored one. */
  #replacing = new Set<string>();
  /** The parents of checkpoints that were deleted with their run: a run in flight may still name one as a parent. */
  readonly #deleted = new Map<string, string | undefined>();
  #lateWrites = new Map<string, { ns: string; id: string; writes: StoredWrite[] }>();
  #flushPlanned = false;
  /** The newest checkpoints of some namespaces: the ones that a running graph reads. */
  readonly #newest = new NewestCheckpoints<CheckpointEntry>();
  readonly #late: DeferredWrites;

  constructor(
    private readonly tables: Tables,
    private readonly eventLog: EventLog,
    private readonly store: ValueStore,
  ) {
    this.#late = new DeferredWrites(tables);
  }

  get(ns: string, id?: string): CheckpointEntry | undefined {
    const newest = this.#newest.get(ns);
    if (id === undefined ? newest : newest?.id === id) return newest;
    if (id === undefined) return this.#latest(ns);
    return this.#pending.get(entryKey({ ns, id })) ?? this.#find(ns, id);
  }

  *list(
    ns: string | undefined,
    { id, before, limit = Number.POSITIVE_INFINITY }: { id?: string; before?: string; limit?: number },
  ) {
    let left = limit;
    for (const entry of this.#all(before)) {
      if (left <= 0) return;
      if (ns !== undefined && entry.ns !== ns) continue;
      if ((id !== undefined && entry.id !== id) || (before !== undefined && entry.id >= before)) continue;
      left -= 1;
      yield entry;
    }
  }

  /** The checkpoints from which one continues, nearest first. */
  *ancestors({ ns, id, parentId }: SavedCheckpoint): Generator<CheckpointEntry, void, void> {
    const seen = new Set([id]);
    for (let next = parentId; next !== undefined && !seen.has(next);) {
      const entry = this.get(ns, next);
      if (!entry) return;
      seen.add(next);
      yield entry;
      next = entry.parentId;
    }
  }

  /** The ancestors from which these channels of a checkpoint are replayed. */
  replayedFrom(entry: CheckpointEntry, channels: string[]): CheckpointEntry[] {
    const found: CheckpointEntry[] = [];
    let missing = channels;
    for (const ancestor of missing.length > 0 ? this.ancestors(entry) : []) {
      found.push(ancestor);
      missing = missing.filter((channel) => !(channel in ancestor.refs));
      if (missing.length === 0) break;
    }
    return found;
  }

  /** Whether there is something from which the channel of a checkpoint can be replayed. */
  isReplayable(entry: CheckpointEntry, channel: string): boolean {
    for (const ancestor of this.ancestors(entry)) {
      const isWritten = ([, , written]: StoredWrite) => written === channel;
      if (channel in ancestor.refs || this.#stored(entry.ns, ancestor.id).some(isWritten)) return true;
    }
    return false;
  }

  hasValue(saved: SavedCheckpoint, channel: string): boolean {
    return channel in (saved as CheckpointEntry).refs;
  }

  async values(saved: SavedCheckpoint, channels?: readonly string[]): Promise<Record<string, unknown>> {
    const { ns, refs } = saved as CheckpointEntry;
    const values: Record<string, unknown> = {};
    for (const [channel, ref] of Object.entries(refs))
      if (channels?.includes(channel) ?? true) values[channel] = await this.store.decode(`${ns}|${channel}`, ref);
    return values;
  }

  metadata(saved: SavedCheckpoint): SavedCheckpoint["metadata"] {
    const { inherited, metadata } = saved as CheckpointEntry;
    return { ...(this.#expand(inherited) as Record<string, unknown> | undefined), ...metadata };
  }

  async writes(ns: string, checkpointId: string): Promise<SavedWrite[]> {
    return Promise.all(
      countingWrites(this.#stored(ns, checkpointId)).map(async ([taskId, index, channel, value, runId, path]) => ({
        taskId,
        index,
        channel,
        value: await revive(this.#expand(value)),
        runId: runId ?? undefined,
        path,
      })),
    );
  }

  /**
   * The questions that wait at a checkpoint of the root graph (the latest when none is named), by task, in wire form. Of
   * several questions of a nested graph LangGraph keeps only the last at the root, so those are read from the nested ones. Each id is
   * under one task.
   */
  interrupts(id?: string): Interrupts {
    const root = this.get("", id);
    if (!root) return {};
    const found = this.#questionsAt(root);
    for (const [taskId, interrupts] of Object.entries(found)) {
      const pending = [...this.#pending.values()].map(({ ns }) => ns).filter((ns) => ns.includes(`:${taskId}`));
      for (const ns of new Set([...this.tables.readHeads(taskId), ...pending])) {
        const nested = this.get(ns);
        const more = nested ? Object.values(this.#questionsAt(nested)).flat() : [];
        interrupts.push(...more.filter((one) => !interrupts.some((known) => known.id === one.id)));
      }
    }
    return uniqueById(found);
  }

  #questionsAt({ ns, id }: CheckpointEntry): Interrupts {
    return interruptsIn(this.#stored(ns, id), (value) => this.#expand(value));
  }

  /**
   * Stores a checkpoint, or replaces the stored one with its id, which keeps its parent and its writes. LangGraph puts a checkpoint again
   * that a run with `durability: "exit"` began from, and names it as its own parent (before version 1.7).
   */
  put(saved: SavedCheckpoint, { values, changed, inherited }: PutState): void {
    const { ns, id } = saved;
    const key = entryKey(saved);
    const latest = this.get(ns);
    const known = latest && id <= latest.id ? this.get(ns, id) : undefined;
    const parentId = known ? known.parentId : this.#existingParent(saved);
    const before = known ?? (parentId === undefined ? undefined : this.get(ns, parentId));
    const refs: ValueRefs = this.#unchangedRefs(saved, before, values);
    for (const [channel, value] of Object.entries(values)) {
      if (value === undefined) continue;
      const ref: ValueRef | undefined = before?.refs[channel];
      // A node may have changed an object of a channel that it did not write.
      const same = ref && typeof value !== "object" && !changed.includes(channel);
      refs[channel] = same ? ref : this.store.encode(`${ns}|${channel}`, value);
    }
    withinState(this.store.size(refs));
    const shared = Object.keys(inherited).length > 0 && {
      inherited: this.#shrink(JSON.stringify(inherited), MOST_INHERITED),
    };
    const late = known?.late && { late: known.late };
    const entry: CheckpointEntry = { ...saved, parentId, refs, ...shared, writes: known?.writes ?? [], ...late };
    if (known && !this.#pending.has(key)) this.#replacing.add(key);
    this.#pending.set(key, entry);
    if (!latest || id >= latest.id) this.#newest.set(ns, entry);
    this.#planFlush();
  }

  /** The parent, or the nearest checkpoint before it that is left. */
  #existingParent({ ns, id, parentId }: SavedCheckpoint): string | undefined {
    if (parentId === undefined || parentId === id) return undefined;
    return this.get(ns, parentId) ? parentId : nearestKept(ns, parentId, this.#deleted);
  }

  /**
   * The references of channels that have no value here and the version that they have in the checkpoint before: those that the graph does
   * not know, because another one of the thread wrote them, and those that are replayed.
   */
  #unchangedRefs(
    { checkpoint: { channel_versions: versions } }: SavedCheckpoint,
    before: CheckpointEntry | undefined,
    values: Record<string, unknown>,
  ): ValueRefs {
    const then = before?.checkpoint.channel_versions ?? {};
    const isUnchanged = (channel: string) =>
      values[channel] === undefined && channel in versions && versions[channel] === then[channel];
    return Object.fromEntries(Object.entries(before?.refs ?? {}).filter(([channel]) => isUnchanged(channel)));
  }

  putWrites(ns: string, checkpointId: string, writes: SavedWrite[]): void {
    this.store.touch();
    const stored = writes.map(({ taskId, index, channel, value, runId, path }): StoredWrite => {
      const shrunk = this.#shrink(dump(value));
      if (path) return [taskId, index, channel, shrunk, runId ?? null, path];
      return runId === undefined ? [taskId, index, channel, shrunk] : [taskId, index, channel, shrunk, runId];
    });
    const key = entryKey({ ns, id: checkpointId });
    const pending = this.#replacing.has(key) ? undefined : this.#pending.get(key);
    if (pending) pending.writes = pending.writes.concat(stored);
    else {
      const late = this.#lateWrites.get(key) ?? { ns, id: checkpointId, writes: [] };
      late.writes = late.writes.concat(stored);
      this.#lateWrites.set(key, late);
    }
    this.#planFlush();
  }

  /**
   * Removes what a run has left: its checkpoints, and its writes under those of others. Checkpoints that continue from its
   * own continue from the one before. `replaced`: new forms of checkpoints, by `entryKey`. `needed`: checkpoints that stay with what is
   * written under them, because others are replayed from them. Called within a transaction.
   */
  removeRun(
    runId: string,
    replaced: Map<string, CheckpointEntry> = new Map(),
    needed: readonly CheckpointEntry[] = [],
  ): void {
    const stays = new Set(needed.map(entryKey));
    const isKept = ([, , , , run]: StoredWrite, at: { ns: string; id: string }) =>
      run !== runId || stays.has(entryKey(at));
    const parents = new Map<string, string | undefined>();
    for (const entry of this.list(undefined, {}))
      if (entry.metadata.run_id === runId && !stays.has(entryKey(entry))) parents.set(entryKey(entry), entry.parentId);
    const isGone = (ns: string, id: string) => parents.has(entryKey({ ns, id }));
    rewriteAll(this.tables, isGone, isKept, (entry) => {
      const parentId = nearestKept(entry.ns, entry.parentId, parents);
      const full = replaced.get(entryKey(entry)) ?? entry;
      const writes = full.writes.filter((write) => isKept(write, entry));
      if (full === entry && parentId === entry.parentId && writes.length === entry.writes.length) return entry;
      return { ...full, parentId, writes };
    });
    for (const row of this.tables.readWrites(runId))
      filterRow(this.tables, row, (write) => isKept(write, { ns: row.ns, id: row.checkpoint_id }));
    for (const [key, parentId] of parents) this.#deleted.set(key, parentId);
    this.#newest.clear();
  }

  /**
   * Removes a run's answers to questions that wait again, because the run was stopped or is tried again, and its answer without an id:
   * LangGraph would take the next answer for the answer to a later question of the task. `at`: the checkpoint of the past from which
   * the run continues. Called within a transaction.
   */
  removeResumes(runId: string, at?: string): void {
    const past = at === undefined ? undefined : this.get("", at);
    for (const entry of past ? [past] : this.live()) {
      const unused = unusedResumes(this.#stored(entry.ns, entry.id), runId);
      if (unused.size > 0)
        filterWrites(
          this.tables,
          entry,
          ([taskId, , channel, , run]) => !isResumeWrite(channel, run, runId) || !unused.has(taskId),
        );
    }
    this.#newest.clear();
  }

  /**
   * The checkpoints from which the thread continues: the latest of the root graph, those of nested graphs that are in the
   * middle of its tasks, and those of graphs that keep their state from call to call, whose namespace names no task.
   */
  live(): CheckpointEntry[] {
    const latest = this.get("");
    if (!latest) return [];
    const pending = [...this.#pending.values()].map(({ ns }) => ns);
    const namespaces = new Set([...this.tables.headsAfter(latest.id), ...pending]);
    namespaces.delete("");
    const nested = [...namespaces].flatMap((ns) => this.get(ns) ?? []);
    return [latest, ...nested.filter(({ ns, metadata }) => !ns.includes(":") || metadata.parents?.[""] === latest.id)];
  }

  /** The checkpoints that continue from one of this run, or from one under which this run has written. */
  after(runId: string): CheckpointEntry[] {
    const isOwn = ([, , , , run]: StoredWrite) => run === runId;
    const from = new Set<string>();
    for (const entry of this.list(undefined, {})) {
      const { ns, parentId: id = "", late } = entry;
      if (entry.metadata.run_id === runId || entry.writes.some(isOwn)) from.add(entryKey(entry));
      if (late?.writes.some(isOwn)) from.add(entryKey({ ns, id }));
    }
    for (const { ns, checkpoint_id: id, body } of this.tables.readWrites(runId))
      if ((JSON.parse(body) as StoredWrite[]).some(isOwn)) from.add(entryKey({ ns, id }));
    const after: CheckpointEntry[] = [];
    for (const entry of from.size > 0 ? this.list(undefined, {}) : []) {
      const { ns, parentId: id = "", metadata } = entry;
      if (metadata.run_id !== runId && from.has(entryKey({ ns, id }))) after.push(entry);
    }
    return after;
  }

  /** The checkpoints, by `entryKey`, with these values of channels that are replayed. The next flush stores the values. */
  withValues(given: Map<CheckpointEntry, Record<string, unknown>>): Map<string, CheckpointEntry> {
    return new Map(
      [...given].map(([entry, values]) => {
        const refs = Object.entries(values).map(([channel, value]) => {
          return [channel, this.store.encode(`${entry.ns}|${channel}`, new DeltaSnapshot(value))] as const;
        });
        return [entryKey(entry), withValues(entry, Object.fromEntries(refs))];
      }),
    );
  }

  /**
   * Deletes all checkpoints but those that are live, and those `needed`, from which channels of these are replayed. `replaced`: new
   * forms of checkpoints, by `entryKey`. Called within a transaction.
   */
  keepLatest(replaced: Map<string, CheckpointEntry>, needed: readonly CheckpointEntry[] = []): void {
    const live = this.live().map((entry) => replaced.get(entryKey(entry)) ?? entry);
    const sends = live.flatMap((entry) => this.#sendsBefore(entry));
    const kept = new Map([...needed, ...live].map((entry) => [entryKey(entry), entry]));
    const isGone = (ns: string, id: string) => !kept.has(entryKey({ ns, id }));
    rewriteAll(
      this.tables,
      isGone,
      () => true,
      (entry) => replaced.get(entryKey(entry)) ?? entry,
    );
    for (const { ns, id, writes } of sends)
      if (!kept.has(entryKey({ ns, id }))) this.tables.insertWrites(ns, id, JSON.stringify(writes));
    this.#newest.clear();
  }

  #planFlush(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    this.eventLog.due(() => this.#flush());
  }

  #flush(): void {
    this.#flushPlanned = false;
    const isStored = (entry: CheckpointEntry) => this.#replacing.has(entryKey(entry));
    const pending = [...this.#pending.values()];
    const entries = pending.filter((entry) => !isStored(entry));
    replaceEntries(this.tables, pending.filter(isStored));
    for (const late of this.#lateWrites.values()) this.#late.write(late, entries);
    for (const { ids, texts } of packEntries(entries)) {
      ids.sort();
      this.tables.packs.insert(ids.at(-1) as string, ids[0] as string, `[${texts.join(",")}]`);
    }
    this.#late.wrote(entries);
    // A request that is repeated finds what it has made, also when the checkpoint is pruned.
    for (const { ns, id, metadata } of entries)
      if (typeof metadata.update_id === "string")
        this.tables.tombstones.add(metadata.update_id, Date.now() + KEPT_MS, JSON.stringify([ns, id]));
    const heads = new Map<string, string>();
    for (const { ns, id } of entries) if (ns !== "" && id > (heads.get(ns) ?? "")) heads.set(ns, id);
    for (const [ns, id] of heads) if (id > (this.tables.head(ns) ?? "")) this.tables.setHead(ns, id);
    this.#pending.clear();
    this.#replacing.clear();
    this.#lateWrites.clear();
  }

  #latest(ns: string): CheckpointEntry | undefined {
    if (ns === "") return [...this.list(ns, { limit: 1 })][0];
    const head = this.tables.head(ns);
    const stored = head === undefined ? undefined : this.get(ns, head);
    const all = [...this.#pending.values()].filter((entry) => entry.ns === ns);
    return all.reduce((latest, entry) => (latest && latest.id > entry.id ? latest : entry), stored);
  }

  /** All writes under a checkpoint, in the order in which they came. */
  #stored(ns: string, id: string): StoredWrite[] {
    return [
      ...(this.get(ns, id)?.writes ?? []),
      ...this.#late.stored(ns, id),
      ...(this.#lateWrites.get(entryKey({ ns, id }))?.writes ?? []),
    ];
  }

  /** What LangGraph before 1.0 sends to the next step is kept as writes of the parent (`Saver`). */
  #sendsBefore({ checkpoint, ns, parentId: id }: CheckpointEntry): { ns: string; id: string; writes: StoredWrite[] }[] {
    if (checkpoint.v >= 4 || id === undefined) return [];
    const writes = this.#stored(ns, id).filter(([, , channel]) => channel === TASKS);
    return writes.length > 0 ? [{ ns, id, writes }] : [];
  }

  #find(ns: string, id: string): CheckpointEntry | undefined {
    for (const { entries } of this.tables.packs.at(id)) {
      const found = (JSON.parse(entries) as CheckpointEntry[]).find((entry) => entry.ns === ns && entry.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** Pending and stored entries, newest first. */
  *#all(before?: string): Generator<CheckpointEntry> {
    const pending = [...this.#pending.values()].sort(newestFirst);
    const keys = new Set(pending.map(entryKey));
    for (const entry of this.#inPacks(before)) {
      while (pending[0] && pending[0].id > entry.id) yield pending.shift() as CheckpointEntry;
      if (!keys.has(entryKey(entry))) yield entry;
    }
    yield* pending;
  }

  /** Stored entries, newest first. Packs may overlap by a moment, so neighbours are sorted together. */
  *#inPacks(before?: string): Generator<CheckpointEntry> {
    let held: CheckpointEntry[] = [];
    for (const pack of this.tables.packs.all(before)) {
      const entries = [...held, ...(JSON.parse(pack.entries) as CheckpointEntry[])].sort(newestFirst);
      const ready = entries.filter((entry) => entry.id > pack.last_id);
      held = entries.filter((entry) => entry.id <= pack.last_id);
      yield* ready;
    }
    yield* held;
  }

  /** A long written value is stored separately, by content: a row holds 2 MB at most. So is one that looks like a reference. */
  #shrink(text: string, most = 100_000): unknown {
    const isApart = text.length > most || text.startsWith('{"$b":');
    return isApart ? { $b: this.store.blob(text) } : (JSON.parse(text) as unknown);
  }

  #expand(value: unknown): unknown {
    const blob = isObject(value) && Object.keys(value)[0] === "$b" ? (value.$b as string) : undefined;
    return blob === undefined ? value : (JSON.parse(this.store.readBlob(blob)) as unknown);
  }
}

/** The entries' ids and JSON, in groups whose JSON stays well below a row's limit. */
function packEntries(entries: CheckpointEntry[]): { ids: string[]; texts: string[] }[] {
  const groups: { ids: string[]; texts: string[] }[] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const text = JSON.stringify(entry);
    if (size + text.length > 400_000) {
      groups.push({ ids: [], texts: [] });
      size = 0;
    }
    groups.at(-1)?.ids.push(entry.id);
    // Late writes are found by the id of their checkpoint.
    if (entry.late && entry.parentId !== undefined) groups.at(-1)?.ids.push(entry.parentId);
    groups.at(-1)?.texts.push(text);
    size += text.length;
  }
  return groups;
}

// How much room a thread's checkpoints take.

export function storageFigures(checkpoints: Checkpoints, tables: Tables): StorageFigures {
  const byChannel: Record<string, { versions: number; bytes: number }> = {};
  const seen = new Set<string>();
  let count = 0;
  let bytes = 0;
  for (const entry of checkpoints.list(undefined, {})) {
    count += 1;
    bytes += JSON.stringify(entry).length;
    for (const [channel, ref] of Object.entries(entry.refs)) {
      const figures = (byChannel[channel] ??= { versions: 0, bytes: 0 });
      for (const [address, size] of parts(ref)) {
        if (seen.has(`${channel}|${address}`)) continue;
        seen.add(`${channel}|${address}`);
        figures.versions += 1;
        figures.bytes += size;
      }
    }
  }
  const values = Object.values(byChannel);
  const channelBytes = values.reduce((sum, one) => sum + one.bytes, 0);
  const writes = tables.writesFigures();
  return {
    total_bytes: bytes + channelBytes + writes.bytes,
    checkpoints: { count, bytes },
    channel_values: {
      count: values.reduce((sum, one) => sum + one.versions, 0),
      bytes: channelBytes,
      by_channel: byChannel,
    },
    pending_writes: writes,
  };
}

/** The separately stored parts of a value, with their sizes: shared ones are counted once. */
function parts(ref: ValueRef): [address: string, size: number][] {
  if ("l" in ref) return ref.l.map(([first, n, place, , size]) => [`${first}.${n}.${place}`, size]);
  if ("b" in ref) return [[ref.b, ref.s ?? 0]];
  const text = JSON.stringify(ref.v);
  return [[text, text.length]];
}
