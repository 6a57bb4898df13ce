/** Copies of a thread: its rows as they are, under another name. */
import type { ThreadParts } from "./parts.ts";
import type { ThreadRecord } from "./record.ts";
import { COPIED_TABLES, type CopiedTable, type Row } from "./tables.ts";

export type Rows = Partial<Record<CopiedTable, Row[]>>;

/** Checkpoints, their writes and what they refer to; not the runs and their requests. */
export function copyRows({ journal, tables }: ThreadParts): Rows {
  journal.flush();
  return Object.fromEntries(COPIED_TABLES.map((name) => [name, tables.rows(name)]));
}

/** Writes copied rows into an empty thread. Checkpoint metadata names the new thread. */
export function pasteRows({ tables }: ThreadParts, record: ThreadRecord, rows: Rows): void {
  tables.transaction(() => {
    for (const name of COPIED_TABLES) {
      for (const row of rows[name] ?? [])
        tables.insertRow(name, name === "packs" ? renamed(row, record.thread_id) : row);
    }
    tables.putThread(JSON.stringify(record));
  });
}

function renamed(row: Row, threadId: string) {
  const entries = JSON.parse(String(row.entries)) as { metadata: Record<string, unknown> }[];
  for (const entry of entries) entry.metadata.thread_id = threadId;
  return { ...row, entries: JSON.stringify(entries) };
}
