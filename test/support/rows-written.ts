/** Rows that a Durable Object writes, those of indexes included, as the platform bills them. */
import { whileSeen } from "./statements.ts";

/** The rows written while `work` runs, by all objects of this isolate. Only for work that nothing else runs beside. */
export async function countRowsWritten(sql: SqlStorage, work: () => Promise<unknown>): Promise<number> {
  const cursors: { rowsWritten: number }[] = [];
  await whileSeen(sql, (cursor) => cursors.push(cursor), work);
  return cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0);
}
