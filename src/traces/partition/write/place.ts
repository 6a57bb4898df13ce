/** Completing the place of runs that came without a dotted_order, once their parents are known. */
import { segment } from "../../dotted.ts";
import { OF_IDS } from "../store/ids.ts";

interface Placed extends Record<string, SqlStorageValue> {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  parent_run_ids: string;
  dotted_order: string;
  start_time: number;
}

const COLUMNS = "id, trace_id, parent_run_id, parent_run_ids, dotted_order, start_time";

/**
 * Derives trace_id, dotted_order and ancestors of the given runs and of those below them, level by level.
 * Gives the traces whose runs moved.
 */
export function placeDerived(sql: SqlStorage, ids: string[]): string[] {
  const moved = new Set<string>();
  let keys = ids;
  while (keys.length > 0) {
    const list = JSON.stringify(keys);
    const derived = sql
      .exec<Placed>(
        `SELECT ${COLUMNS} FROM runs WHERE placed = 0 AND parent_run_id IN (SELECT value FROM json_each(?))
         UNION SELECT ${COLUMNS} FROM runs WHERE placed = 0 AND n IN ${OF_IDS}`,
        list,
        list,
      )
      .toArray();
    keys = placeBelowParents(sql, derived);
    for (const { trace_id } of derived) if (keys.length > 0) moved.add(trace_id);
  }
  return [...moved];
}

/** One pass; gives the runs that changed, whose own children may now have to change. */
function placeBelowParents(sql: SqlStorage, derived: Placed[]): string[] {
  if (derived.length === 0) return [];
  const parentIds = JSON.stringify([...new Set(derived.map((row) => row.parent_run_id))]);
  const parents = sql.exec<Placed>(`SELECT ${COLUMNS} FROM runs WHERE n IN ${OF_IDS}`, parentIds);
  const byId = new Map(parents.toArray().map((row) => [row.id, row]));
  const changed: string[] = [];
  for (const row of derived) {
    const parent = byId.get(row.parent_run_id ?? "");
    const ancestors = parent ? [...(JSON.parse(parent.parent_run_ids) as string[]), parent.id] : [];
    // A run below itself can have no place; it keeps its provisional one.
    if (!parent || ancestors.includes(row.id) || ancestors.length > 200) continue;
    const dotted = `${parent.dotted_order}.${segment(row.start_time, row.id)}`;
    if (dotted === row.dotted_order && parent.trace_id === row.trace_id) continue;
    row.trace_id = parent.trace_id;
    sql.exec(
      `UPDATE runs SET trace_id = ?, dotted_order = ?, parent_run_ids = ? WHERE n IN ${OF_IDS}`,
      row.trace_id,
      dotted,
      JSON.stringify(ancestors),
      JSON.stringify([row.id]),
    );
    changed.push(row.id);
  }
  return changed;
}
