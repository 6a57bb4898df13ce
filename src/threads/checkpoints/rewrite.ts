/** Changes of checkpoints that are stored: all of a thread, or one. Called within a transaction. */
import type { Tables } from "../storage/tables.ts";
import type { Entry } from "./entry.ts";
import type { StoredWrite } from "./writes.ts";

/** Changes every checkpoint. `change` gives its new form, or undefined: it is removed with its writes. */
export function rewriteAll(tables: Tables, change: (entry: Entry) => Entry | undefined): void {
  const heads = new Map<string, string>();
  const gone: Entry[] = [];
  for (const pack of tables.packs()) {
    const before = JSON.parse(pack.entries) as Entry[];
    const changed = before.map(change);
    const left = changed.filter((entry) => entry !== undefined);
    for (const { ns, id } of left) if (id > (heads.get(ns) ?? "")) heads.set(ns, id);
    gone.push(...before.filter((_, i) => changed[i] === undefined));
    if (changed.some((entry, i) => entry !== before[i])) tables.setPack(pack.last_id, pack.n, JSON.stringify(left));
  }
  for (const { ns, id } of gone) tables.deleteWrites(ns, id);
  for (const ns of new Set(gone.map((entry) => entry.ns))) {
    const head = heads.get(ns);
    if (head === undefined) tables.deleteHead(ns);
    else if (ns !== "") tables.setHead(ns, head);
  }
}

/** Keeps those writes under one checkpoint for which `keep` holds. */
export function filterWrites(tables: Tables, { ns, id }: Entry, keep: (write: StoredWrite) => boolean): void {
  for (const pack of tables.packsAt(id)) {
    const entries = JSON.parse(pack.entries) as Entry[];
    const entry = entries.find((one) => one.ns === ns && one.id === id);
    if (!entry || entry.writes.every(keep)) continue;
    entry.writes = entry.writes.filter(keep);
    tables.setPack(pack.last_id, pack.n, JSON.stringify(entries));
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
