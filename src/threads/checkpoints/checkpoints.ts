/**
 * The thread's checkpoints. What a flush keeps of them shares one row (a pack), found by the ids it spans; writes that
 * come in the same flush as their checkpoint are stored in its entry, later ones in rows of their own.
 */
import { dump, revive } from "../../runtime/serde.ts";
import type { CheckpointStorage, SavedCheckpoint, SavedWrite } from "../../runtime/saver.ts";
import type { EventLog } from "../log/event-log.ts";
import { withinState } from "../limits.ts";
import type { Tables } from "../storage/tables.ts";
import type { Ref, Refs, Values } from "../log/values.ts";

/** A write as stored: task, index, channel, and the value in stored form. */
type StoredWrite = [taskId: string, index: number, channel: string, value: unknown];

interface Entry extends SavedCheckpoint {
  refs: Refs;
  writes: StoredWrite[];
}

export class Checkpoints implements CheckpointStorage {
  /** Not yet flushed, by namespace and id. */
  #pending = new Map<string, Entry>();
  #lateWrites = new Map<string, { ns: string; id: string; writes: StoredWrite[] }>();
  #flushPlanned = false;
  /** The newest checkpoint per namespace: the one that a running graph reads. */
  #newest = new Map<string, Entry>();

  constructor(
    private readonly tables: Tables,
    private readonly eventLog: EventLog,
    private readonly store: Values,
  ) {}

  get(ns: string, id?: string): Entry | undefined {
    const newest = this.#newest.get(ns);
    if (id === undefined ? newest : newest?.id === id) return newest;
    if (id === undefined) return this.#latest(ns);
    return this.#pending.get(key(ns, id)) ?? this.#find(ns, id);
  }

  *list(
    ns: string | undefined,
    { id, before, limit = Number.POSITIVE_INFINITY }: { id?: string; before?: string; limit?: number },
  ) {
    let left = limit;
    const pending = [...this.#pending.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
    for (const entry of this.#merged(pending, before)) {
      if (left <= 0) return;
      if (ns !== undefined && entry.ns !== ns) continue;
      if ((id !== undefined && entry.id !== id) || (before !== undefined && entry.id >= before)) continue;
      left -= 1;
      yield entry;
    }
  }

  async values(saved: SavedCheckpoint): Promise<Record<string, unknown>> {
    const { ns, refs } = saved as Entry;
    const values: Record<string, unknown> = {};
    for (const [channel, ref] of Object.entries(refs))
      values[channel] = await this.store.decode(`${ns}|${channel}`, ref);
    return values;
  }

  async writes(ns: string, checkpointId: string): Promise<SavedWrite[]> {
    const stored = [
      ...(this.get(ns, checkpointId)?.writes ?? []),
      ...this.tables.writes(ns, checkpointId).flatMap((body) => JSON.parse(body) as StoredWrite[]),
      ...(this.#lateWrites.get(key(ns, checkpointId))?.writes ?? []),
    ];
    const bySlot = new Map<string, StoredWrite>();
    for (const write of stored) {
      const slot = `${write[0]},${write[1]}`;
      // LangGraph's rule: a task's first write is kept, while errors, interrupts and resumes replace each other.
      if (write[1] < 0) bySlot.delete(slot);
      if (!bySlot.has(slot)) bySlot.set(slot, write);
    }
    return Promise.all(
      [...bySlot.values()].map(async ([taskId, index, channel, value]) => ({
        taskId,
        index,
        channel,
        value: await revive(this.#expand(value)),
      })),
    );
  }

  put(saved: SavedCheckpoint, values: Record<string, unknown>, changed: string[]): void {
    const parent = saved.parentId === undefined ? undefined : this.get(saved.ns, saved.parentId);
    const refs: Refs = {};
    for (const [channel, value] of Object.entries(values)) {
      if (value === undefined) continue;
      const before: Ref | undefined = parent?.refs[channel];
      const same = before && !changed.includes(channel);
      refs[channel] = same ? before : this.store.encode(`${saved.ns}|${channel}`, value);
    }
    withinState(this.store.size(refs));
    const entry: Entry = { ...saved, refs, writes: [] };
    this.#pending.set(key(saved.ns, saved.id), entry);
    this.#newest.set(saved.ns, entry);
    this.#planFlush();
  }

  putWrites(ns: string, checkpointId: string, writes: SavedWrite[]): void {
    const stored = writes.map(({ taskId, index, channel, value }): StoredWrite => {
      this.store.touch(value);
      return [taskId, index, channel, this.#shrink(dump(value))];
    });
    const pending = this.#pending.get(key(ns, checkpointId));
    if (pending) pending.writes.push(...stored);
    else {
      const late = this.#lateWrites.get(key(ns, checkpointId)) ?? { ns, id: checkpointId, writes: [] };
      late.writes.push(...stored);
      this.#lateWrites.set(key(ns, checkpointId), late);
    }
    this.#planFlush();
  }

  /** Removes the stored checkpoints that `which` picks, with their writes. Called within a transaction. */
  remove(which: (entry: SavedCheckpoint) => boolean): void {
    const gone: SavedCheckpoint[] = [];
    for (const pack of this.tables.packs()) {
      const entries = JSON.parse(pack.entries) as Entry[];
      const kept = entries.filter((entry) => !which(entry));
      if (kept.length === entries.length) continue;
      gone.push(...entries.filter(which));
      this.tables.setPack(pack.last_id, pack.n, JSON.stringify(kept));
    }
    for (const { ns, id } of gone) this.tables.deleteWrites(ns, id);
    this.#newest.clear();
    for (const ns of new Set(gone.map((entry) => entry.ns))) {
      if (ns === "") continue;
      const latest = [...this.list(ns, { limit: 1 })][0];
      if (latest) this.tables.setHead(ns, latest.id);
      else this.tables.deleteHead(ns);
    }
  }

  /** Deletes every checkpoint but the latest of the root graph. */
  keepLatest(): void {
    const latest = this.get("")?.id;
    this.eventLog.commit(() => this.eventLog.due(() => this.remove((entry) => entry.id !== latest)));
  }

  #planFlush(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    this.eventLog.due(() => this.#flush());
  }

  #flush(): void {
    this.#flushPlanned = false;
    for (const { ids, texts } of packed([...this.#pending.values()])) {
      ids.sort();
      this.tables.insertPack(ids.at(-1) as string, ids[0] as string, `[${texts.join(",")}]`);
    }
    const heads = new Map([...this.#pending.values()].filter(({ ns }) => ns !== "").map(({ ns, id }) => [ns, id]));
    for (const [ns, id] of heads) this.tables.setHead(ns, id);
    for (const { ns, id, writes } of this.#lateWrites.values())
      this.tables.insertWrites(ns, id, JSON.stringify(writes));
    this.#pending.clear();
    this.#lateWrites.clear();
  }

  #latest(ns: string): Entry | undefined {
    if (ns !== "") {
      const head = this.tables.head(ns);
      return head === undefined ? undefined : this.#find(ns, head);
    }
    return [...this.list(ns, { limit: 1 })][0];
  }

  #find(ns: string, id: string): Entry | undefined {
    for (const pack of this.tables.packsWith(id)) {
      const found = (JSON.parse(pack) as Entry[]).find((entry) => entry.ns === ns && entry.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** Pending and stored entries, newest first. Packs may overlap by a moment, so neighbours are sorted together. */
  *#merged(pending: Entry[], before?: string): Generator<Entry> {
    yield* pending;
    let held: Entry[] = [];
    for (const pack of this.tables.packs(before)) {
      const entries = [...held, ...(JSON.parse(pack.entries) as Entry[])].sort((a, b) => (a.id < b.id ? 1 : -1));
      const ready = entries.filter((entry) => entry.id > pack.last_id);
      held = entries.filter((entry) => entry.id <= pack.last_id);
      yield* ready;
    }
    yield* held;
  }

  /** A long written value is stored separately, by content: a row holds 2 MB at most. */
  #shrink(text: string): unknown {
    return text.length > 100_000 ? { $b: this.store.blob(text) } : (JSON.parse(text) as unknown);
  }

  #expand(value: unknown): unknown {
    const blob = (value as { $b?: string } | null)?.$b;
    return blob === undefined ? value : (JSON.parse(this.store.readBlob(blob)) as unknown);
  }
}

const key = (ns: string, id: string): string => `${ns}|${id}`;

/** The entries' ids and JSON, in groups whose JSON stays well below a row's limit. */
function packed(entries: Entry[]): { ids: string[]; texts: string[] }[] {
  const groups: { ids: string[]; texts: string[] }[] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const text = JSON.stringify(entry);
    if (size + text.length > 400_000) {
      groups.push({ ids: [], texts: [] });
      size = 0;
    }
    groups.at(-1)?.ids.push(entry.id);
    groups.at(-1)?.texts.push(text);
    size += text.length;
  }
  return groups;
}
