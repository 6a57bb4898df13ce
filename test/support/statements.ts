/** Statements that a Durable Object runs. */

type Statement = Parameters<SqlStorage["exec"]>;

/** The statements that all objects of this isolate run while `work` does, each with its parameters. */
export async function recordStatements(sql: SqlStorage, work: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = [];
  await whileSeen(sql, (_, ...statement) => statements.push(statement), work);
  return statements;
}

/** Calls `see` with each cursor and its statement while `work` runs. */
export async function whileSeen(
  sql: SqlStorage,
  see: (cursor: { rowsWritten: number; rowsRead: number }, ...statement: Statement) => void,
  work: () => Promise<unknown>,
): Promise<void> {
  const prototype = Object.getPrototypeOf(sql) as SqlStorage;
  const original = Object.getOwnPropertyDescriptor(prototype, "exec") as { value: SqlStorage["exec"] };
  const exec = function exec(this: SqlStorage, ...args: Statement) {
    const cursor = original.value.apply(this, args);
    see(cursor, ...args);
    return cursor;
  };
  Object.defineProperty(prototype, "exec", { ...original, value: exec });
  try {
    await work();
  } finally {
    Object.defineProperty(prototype, "exec", original);
  }
}
