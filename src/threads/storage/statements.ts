import { LongTexts, type Value } from "./long-text.ts";
import type { Vault } from "./vault.ts";

type Row = Record<string, Value>;

/** The table that a statement reads or writes: the first one that it names. */
const TABLE = /\b(?:FROM|INTO|UPDATE) (\w+)/;
/** The tables of the statements so far. Their texts are constants. */
const tables = new Map<string, string>();

/**
 * Statements on an object's SQLite, with texts of any length (long-text.ts). The first INSERT into a table makes it, because
 * each table of each object is a row written. Reads of a table that does not exist give nothing.
 */
export class Statements {
  /** Rows written since the object woke: what the bench reports. */
  rowsWritten = 0;
  /** What columns hold of texts: sealed, or a reference. Statements take and give that. */
  readonly texts: LongTexts;
  /** The tables that exist. */
  #made: Set<string>;
  #closed = false;

  /** `definitions`: what makes each table, by name. */
  constructor(
    private readonly sql: SqlStorage,
    private readonly definitions: Record<string, string>,
    vault: Vault,
  ) {
    this.texts = new LongTexts((statement, ...params) => this.#exec(statement, params), vault);
    this.#made = tablesOf(sql);
  }

  /** Runs a statement and gives its rows. */
  all<T extends object>(statement: string, ...params: Value[]): T[] {
    return this.#exec(statement, params) as unknown as T[];
  }

  /** Runs a statement that gives none. */
  run(statement: string, ...params: Value[]): void {
    this.#exec(statement, params);
  }

  /** Tables have been deleted, or a transaction failed and the tables that it created were rolled back. */
  forget(): void {
    this.#made = tablesOf(this.sql);
  }

  /** Deletes the tables, also that of earlier versions, except `kept`. */
  dropAllBut(kept: string[]): void {
    const names = ["_migrations", ...Object.keys(this.definitions)].filter((name) => !kept.includes(name));
    for (const name of names) this.sql.exec(`DROP TABLE IF EXISTS ${name}`);
    this.forget();
  }

  /** From here on nothing is found and nothing is written. */
  close(): void {
    this.#closed = true;
  }

  #exec(statement: string, params: Value[]): Row[] {
    if (this.#closed || !this.#ready(statement)) return [];
    const cursor = this.sql.exec<Row>(statement, ...params);
    const rows = cursor.toArray();
    this.rowsWritten += cursor.rowsWritten;
    return rows;
  }

  #ready(statement: string): boolean {
    const table = tableOf(statement);
    if (this.#made.has(table)) return true;
    if (!statement.startsWith("INSERT")) return false;
    this.sql.exec(this.definitions[table] ?? "");
    this.#made.add(table);
    return true;
  }
}

function tableOf(statement: string): string {
  let table = tables.get(statement);
  if (table === undefined) {
    table = TABLE.exec(statement)?.[1] ?? "";
    tables.set(statement, table);
  }
  return table;
}

/** Reading `sqlite_master` of an empty object stores nothing. */
function tablesOf(sql: SqlStorage): Set<string> {
  const rows = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
  return new Set(rows.map(({ name }) => name));
}
