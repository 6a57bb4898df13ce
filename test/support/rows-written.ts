/** Rows that a Durable Object writes, those of indexes included, as the platform bills them. */

/** The rows written while `work` runs, by all objects of this isolate. Only for work that nothing else runs beside. */
export async function rowsWritten(sql: SqlStorage, work: () => Promise<unknown>): Promise<number> {
  const prototype = Object.getPrototypeOf(sql) as SqlStorage;
  const original = Object.getOwnPropertyDescriptor(prototype, "exec") as { value: SqlStorage["exec"] };
  const cursors: { rowsWritten: number }[] = [];
  const exec = function exec(this: SqlStorage, ...args: Parameters<SqlStorage["exec"]>) {
    const cursor = original.value.apply(this, args);
    cursors.push(cursor);
    return cursor;
  };
  Object.defineProperty(prototype, "exec", { ...original, value: exec });
  try {
    await work();
    return cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0);
  } finally {
    Object.defineProperty(prototype, "exec", original);
  }
}
