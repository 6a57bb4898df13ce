/** The tables of a thread, which share one of SQLite (src/threads/store/statements.ts). */
import { type CheckpointEntry, withoutDeferred } from "../../src/threads/checkpoints/checkpoint.ts";
import { type SqlRow, Statements, TABLE_NAMES, type TableName } from "../../src/threads/store/statements.ts";
import { Tables } from "../../src/threads/store/tables.ts";
import type { LongTextValue } from "../../src/threads/store/long-text.ts";

/** The rows that a SELECT on one of the tables gives. */
export const rowsIn = <T extends object = SqlRow>(
  storage: DurableObjectStorage,
  select: string,
  ...params: LongTextValue[]
): T[] => new Statements(storage).all<T>(select, ...params);

/** The tables that have rows. */
export const tablesIn = (storage: DurableObjectStorage): TableName[] =>
  TABLE_NAMES.filter((name) => rowsIn(storage, `SELECT 1 FROM ${name} LIMIT 1`).length > 0);

/** The thread's own row. */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters -- The record is JSON: the caller says what it has.
export function recordIn<T extends object = Record<string, unknown>>(storage: DurableObjectStorage): T {
  const [row] = rowsIn<{ record: string }>(storage, "SELECT record FROM thread");
  if (!row) throw new Error("The object has no thread.");
  return JSON.parse(row.record) as T;
}

/** Changes members of the thread's own row. */
export function changeRecord(storage: DurableObjectStorage, change: object): void {
  const record = JSON.stringify({ ...recordIn(storage), ...change });
  new Statements(storage).update("thread", { only: 1 }, { record });
}

/** Sets columns of the row of a table that has this key. */
export function changeRow(storage: DurableObjectStorage, table: TableName, key: SqlRow, set: SqlRow): void {
  new Statements(storage).update(table, key, set);
}

/** Adds a row. */
export function addRow(storage: DurableObjectStorage, table: TableName, row: SqlRow): void {
  new Statements(storage).insert(table, row);
}

/** Whether a statement inserts a row into the table of a thread. */
export const insertsInto = (table: TableName, statement: string): boolean =>
  statement.startsWith("INSERT INTO thread ") && statement.includes(`VALUES ('${table}'`);

/** Gives each pack of checkpoints a row of its own, as a copy has it, and the late writes under each checkpoint theirs. */
export function movePacks(storage: DurableObjectStorage): void {
  const tables = new Tables(storage);
  const statements = new Statements(storage);
  const carried = rowsIn<{ first_seq: number; n: number; carried: string; pack: string }>(
    storage,
    "SELECT first_seq, n, carried, pack FROM segments WHERE carried <> 0 ORDER BY first_seq, n",
  );
  for (const { first_seq, n, carried: ids, pack } of carried) {
    const [first = "", last = ""] = ids.split(" ");
    const entries = (JSON.parse(pack) as CheckpointEntry[]).map((entry) => {
      if (entry.late)
        tables.insertWrites(entry.ns, entry.parentId ?? "", JSON.stringify(entry.late.writes), entry.late.n);
      return withoutDeferred(entry);
    });
    statements.update("segments", { first_seq, n }, { carried: 0, pack: null });
    tables.packs.insert(last, first, JSON.stringify(entries));
  }
}
