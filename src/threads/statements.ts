/** One value of a row, as SQLite keeps it here. */
export type Value = string | number | null;

/** Statements on an object's SQLite, and what they have written. */
export class Statements {
  /** Rows written since the object woke: what the bench reports. */
  rowsWritten = 0;
  #closed = false;

  constructor(private readonly sql: SqlStorage) {}

  /** Runs a statement and gives its rows. */
  all<T extends object>(statement: string, ...params: Value[]): T[] {
    if (this.#closed) return [];
    const cursor = this.sql.exec(statement, ...params);
    const rows = cursor.toArray() as unknown as T[];
    this.rowsWritten += cursor.rowsWritten;
    return rows;
  }

  /** Runs a statement that gives none. */
  run(statement: string, ...params: Value[]): void {
    if (this.#closed) return;
    this.rowsWritten += this.sql.exec(statement, ...params).rowsWritten;
  }

  /** From here on nothing is found and nothing is written. */
  close(): void {
    this.#closed = true;
  }
}
