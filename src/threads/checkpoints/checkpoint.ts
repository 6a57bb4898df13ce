/** Changes of checkpoints that are stored: all of a thread, or one. Called within a transaction. */
import type { Tables } from "../store/tables.ts";
import { type Entry, withoutLate } from "./entry.ts";
import type { StoredWrite } from "./writes.ts";

/** Keeps a write. */
type Keep = (write: StoredWrite) => boolean;

/**
 * Changes every checkpoint: those that are gone are removed with their writes, others get the form that `change` gives. Of late writes that
 * a checkpoint holds under its parent, those are left for which `keep` holds.
 */
export function rewriteAll(
  tables: Tables,
  isGone: (ns: string, id: string) => boolean,
  keep: Keep,
  change: (entry: Entry) => Entry,
): void {
  const heads = new Map<string, string>();
  const gone: Entry[] = [];
  const orphans: Entry[] = [];
  for (const pack of tables.packs.all()) {
    const before = JSON.parse(pack.entries) as Entry[];
    const left = before.filter(({ ns, id }) => !isGone(ns, id));
    const changed = left.map((entry) => lateKept(change(entry), keep, entry.parentId, isGone));
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
    const writes = late?.writes.filter(keep) ?? [];
    if (writes.length > 0) tables.insertWrites(ns, parentId ?? "", JSON.stringify(writes), late?.n);
  }
  for (const { ns, id } of gone) tables.deleteWrites(ns, id);
  for (const ns of new Set(gone.map((entry) => entry.ns))) {
    const head = heads.get(ns);
    if (head === undefined) tables.deleteHead(ns);
    else if (ns !== "") tables.setHead(ns, head);
  }
}

/** The late writes go with the parent under which they are. */
function lateKept(
  entry: Entry,
  keep: Keep,
  parentId: string | undefined,
  isGone: (ns: string, id: string) => boolean,
): Entry {
  if (!entry.late || (!isGone(entry.ns, parentId ?? "") && entry.late.writes.every(keep))) return entry;
  const writes = isGone(entry.ns, parentId ?? "") ? [] : entry.late.writes.filter(keep);
  return writes.length === 0 ? withoutLate(entry) : { ...entry, late: { ...entry.late, writes } };
}

/** Keeps those writes under one checkpoint for which `keep` holds. */
export function filterWrites(tables: Tables, { ns, id }: Entry, keep: Keep): void {
  for (const pack of tables.packs.at(id)) {
    const entries = JSON.parse(pack.entries) as Entry[];
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
  keep: Keep,
): void {
  const writes = JSON.parse(body) as StoredWrite[];
  if (!writes.every(keep)) tables.setWrites(ns, checkpoint_id, n, JSON.stringify(writes.filter(keep)));
}
