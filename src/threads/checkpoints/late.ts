/**
 * Writes that come after their checkpoint is stored. They share the row of the checkpoint that continues from it, when one
 * flush has both. Otherwise they have a row of their own.
 */
import type { Tables } from "../store/tables.ts";
import { type Entry, entryKey, type LateWrites } from "./entry.ts";
import type { StoredWrite } from "./writes.ts";

/** Packs that may be between a checkpoint and the one that holds its late writes: a lookup reads all packs between them. */
const REACH = 4;

export class Late {
  /** The checkpoints of the packs that were written last, oldest first, by `entryKey`, with the place of the next late writes. */
  #recent: Map<string, number>[] = [];

  constructor(private readonly tables: Tables) {}

  /** Writes `writes` under a checkpoint. `entries`: the checkpoints that the same flush writes after this call. */
  write(at: { ns: string; id: string; writes: StoredWrite[] }, entries: Entry[]): void {
    const { ns, id, writes } = at;
    const key = entryKey(at);
    const recent = this.#recent.find((pack) => pack.has(key));
    const n = recent?.get(key) ?? Math.max(-1, ...this.#placed(ns, id).map((one) => one.n)) + 1;
    recent?.set(key, n + 1);
    const child = recent && entries.find((one) => one.ns === ns && one.parentId === id && !one.late);
    if (child && this.tables.carries) child.late = { n, writes };
    else this.tables.insertWrites(ns, id, JSON.stringify(writes), n);
  }

  /** These checkpoints are written. */
  wrote(entries: Entry[]): void {
    if (entries.length === 0) return;
    this.#recent = [...this.#recent, new Map(entries.map((entry) => [entryKey(entry), 0]))].slice(-REACH);
  }

  /** What is stored under a checkpoint apart from it, in the order in which it came. */
  stored(ns: string, id: string): StoredWrite[] {
    return this.#placed(ns, id).flatMap(({ writes }) => writes);
  }

  #placed(ns: string, id: string): LateWrites[] {
    const rows = this.tables
      .writesUnder(ns, id)
      .map(({ n, body }) => ({ n, writes: JSON.parse(body) as StoredWrite[] }));
    const late = this.tables.packs
      .at(id)
      .flatMap(({ entries }) => JSON.parse(entries) as Entry[])
      .flatMap((entry) => (entry.late && entry.ns === ns && entry.parentId === id ? [entry.late] : []));
    return [...late, ...rows].sort((a, b) => a.n - b.n);
  }
}
