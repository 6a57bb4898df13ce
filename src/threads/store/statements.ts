import {
  DELETED,
  type Layout,
  type OnConflict,
  separate,
  shared,
  TABLE_NAMES,
  type TableName,
} from "../storage/layout-store.ts";
import { LongTexts, type Value } from "./long-text.ts";
import { Vault } from "../storage/vault.ts";

export type Row = Record<string, Value>;

/** The table that a statement reads. */
const TABLE = /\bFROM (\w+)/;
/** By layout and what it is to do: the texts of statements, which are constants. */
const texts = new Map<Layout, Map<string, string>>([
  [separate, new Map<string, string>()],
  [shared, new Map<string, string>()],
]);

/**
 * Statements on a thread's tables, in whichever layout it has (layout-store.ts), with texts of any length (long-text.ts). The first row of
 * a table makes it, because each table of each object is billed. Reads of a table that does not exist give nothing.
 */
export class Statements {
  /** Rows written since the object woke: what the bench reports. */
  rowsWritten = 0;
  /** What columns hold of texts: sealed, or a reference. Statements take and give that. */
  readonly texts: LongTexts;
  #layout: Layout = shared;
  /** The tables of SQLite that exist. */
  #made = new Set<string>();
  #closed = false;

  constructor(
    private readonly sql: SqlStorage,
    vault: Vault = new Vault(""),
  ) {
    this.texts = new LongTexts(this, vault);
    this.forget();
  }

  /** The format of what this object stores (db/format.ts). */
  get format(): number {
    return this.#layout.format;
  }

  /** Whether rows of events have room for packs of checkpoints. */
  get carries(): boolean {
    return this.#layout.carries;
  }

  /** Runs a SELECT on one table and gives its rows. */
  all<T extends object>(statement: string, ...params: Value[]): T[] {
    const table = this.#text(`table ${statement}`, () => TABLE.exec(statement)?.[1] ?? "") as TableName;
    if (!this.#made.has(this.#layout.holdingTable(table))) return [];
    const text = this.#text(statement, () => this.#layout.select(table, statement));
    return this.#exec(text, params) as unknown as T[];
  }

  /** Inserts a row. False when the thread is closed. */
  insert(table: TableName, row: Row, onConflict: OnConflict = "fail"): boolean {
    if (this.#closed) return false;
    this.#make(table);
    const columns = Object.keys(row);
    const text = this.#text(`insert ${onConflict} ${table} ${columns.join()}`, () =>
      this.#layout.insert(table, columns, onConflict),
    );
    this.#exec(text, Object.values(row));
    return true;
  }

  /** Sets columns of the rows with this key. */
  update(table: TableName, key: Row, set: Row): void {
    if (!this.#made.has(this.#layout.holdingTable(table))) return;
    const [columns, keys] = [Object.keys(set), Object.keys(key)];
    const text = this.#text(`update ${table} ${columns.join()} ${keys.join()}`, () =>
      this.#layout.update(table, columns, keys),
    );
    this.#exec(text, [...Object.values(set), ...Object.values(key)]);
  }

  /** Deletes the rows with this key, or with these first parts of it. */
  remove(table: TableName, key: Row): void {
    if (!this.#made.has(this.#layout.holdingTable(table))) return;
    const keys = Object.keys(key);
    const text = this.#text(`remove ${table} ${keys.join()}`, () => this.#layout.remove(table, keys));
    this.#exec(text, Object.values(key));
  }

  /** Tables have been deleted, or a transaction failed and the tables that it created were rolled back. */
  forget(): void {
    const rows = this.sql
      .exec<{ name: string; shares: number }>(
        "SELECT name, name = 'thread' AND instr(sql, 'kind') > 0 AS shares FROM sqlite_master WHERE type = 'table'",
      )
      .toArray();
    this.#made = new Set(rows.map(({ name }) => name));
    const isSeparate = !rows.some(({ shares }) => shares) && TABLE_NAMES.some((name) => this.#made.has(name));
    this.#layout = isSeparate ? separate : shared;
  }

  /** Deletes the rows of all tables except `kept`, also what earlier versions have made. */
  dropAllBut(kept: TableName[]): void {
    if (this.#layout === separate) {
      const names = ["_migrations", ...TABLE_NAMES.filter((name) => !kept.includes(name))];
      for (const name of names) this.sql.exec(`DROP TABLE IF EXISTS ${name}`);
      this.forget();
      if (this.#layout === separate) return;
      // None of its tables is left: what follows has the shared one.
      this.#make("thread");
    } else {
      const kinds = kept.map((name) => `'${name}'`).join(", ");
      this.#exec(`DELETE FROM thread WHERE kind NOT IN (${kinds})`, []);
    }
    this.#exec(DELETED, []);
  }

  /** From here on nothing is found and nothing is written. */
  close(): void {
    this.#closed = true;
  }

  #exec(statement: string, params: Value[]): Row[] {
    if (this.#closed) return [];
    const cursor = this.sql.exec<Row>(statement, ...params);
    const rows = cursor.toArray();
    this.rowsWritten += cursor.rowsWritten;
    return rows;
  }

  #make(table: TableName): void {
    const holder = this.#layout.holdingTable(table);
    if (this.#made.has(holder)) return;
    this.sql.exec(this.#layout.definition(table));
    this.#made.add(holder);
  }

  #text(key: string, make: () => string): string {
    const known = texts.get(this.#layout) as Map<string, string>;
    let text = known.get(key);
    if (text === undefined) known.set(key, (text = make()));
    return text;
  }
}
