import { LongTexts } from "./long-text.ts";

/** One value of a row, as SQLite keeps it here. */
export type Value = string | number | null;
type Row = Record<string, Value>;

/**
 * Statements on an object's SQLite, with texts of any length (long-text.ts). An object that holds nothing has no tables:
 * reads then give nothing, and the first INSERT makes the tables.
 */
export class Statements {
  /** Rows written since the object woke: what the bench reports. */
  rowsWritten = 0;
  readonly texts = new LongTexts((statement, ...params) => this.#exec(statement, params));
  #state: "empty" | "open" | "closed";

  /** `migrate` brings the tables to the newest migration. It runs before the first write of an empty object. */
  constructor(
    private readonly sql: SqlStorage,
    private readonly migrate: (sql: SqlStorage) => void,
  ) {
    this.#state = hasTables(sql) ? "open" : "empty";
    if (this.#state === "open") migrate(sql);
  }

  /** Runs a statement and gives its rows. */
  all<T extends object>(statement: string, ...params: Value[]): T[] {
    const rows = this.#exec(statement, params.map(this.texts.store));
    for (const row of rows) for (const name in row) row[name] = this.texts.load(row[name] as Value);
    return rows as unknown as T[];
  }

  /** Runs a statement that gives none. */
  run(statement: string, ...params: Value[]): void {
    this.#exec(statement, params.map(this.texts.store));
  }

  /** Runs a statement whose values are as columns hold them: long texts are references already. */
  held(statement: string, ...params: Value[]): void {
    this.#exec(statement, params);
  }

  /** A transaction failed: tables that it made are gone again. */
  rolledBack(): void {
    if (this.#state === "open" && !hasTables(this.sql)) this.#state = "empty";
  }

  /** From here on nothing is found and nothing is written. */
  close(): void {
    this.#state = "closed";
  }

  #exec(statement: string, params: Value[]): Row[] {
    if (!this.#ready(statement)) return [];
    const cursor = this.sql.exec<Row>(statement, ...params);
    const rows = cursor.toArray();
    this.rowsWritten += cursor.rowsWritten;
    return rows;
  }

  #ready(statement: string): boolean {
    if (this.#state === "empty" && statement.startsWith("INSERT")) {
      this.migrate(this.sql);
      this.#state = "open";
    }
    return this.#state === "open";
  }
}

/** Reading `sqlite_master` of an empty object stores nothing. */
function hasTables(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = '_migrations'").toArray().length > 0;
}
