/**
 * How the tables of a thread are stored, and the statements on them. Their rows share one table of SQLite, because Cloudflare
 * bills two rows for each table that is made.
 */
import { ObjectTables, type ObjectVersion, type TableSchema } from "../../lib/object-tables.ts";
import { LongTexts, type LongTextValue, TextVault } from "./long-text.ts";

/** The columns of each table, its key first, with the place of each in the shared table. */
const PLACES = {
  thread: { only: "k1", format: "i", steps: "j", record: "record" },
  runs: { run_id: "k1", created: "i", fingerprint: "record", status: "t", request: "u", outcome: "v" },
  segments: {
    first_seq: "k1",
    n: "k2",
    last_seq: "i",
    events: "t",
    metas: "u",
    chunks: "v",
    carried: "k3",
    pack: "record",
  },
  packs: { last_id: "k1", n: "k2", first_id: "t", entries: "u" },
  heads: { ns: "k1", id: "t" },
  writes: { ns: "k1", checkpoint_id: "k2", n: "k3", body: "t" },
  blobs: { hash: "k1", part: "k2", body: "t" },
  outbox: { id: "k1", kind: "t", body: "u", attempts: "i", due: "j" },
  tasks: { task_id: "k1", body: "t" },
  answers: { interrupt_id: "k1", n: "k2", body: "t" },
  links: { link_id: "k1", body: "t" },
  tombstones: { id: "k1", until: "i", body: "t" },
  joins: { run_id: "k1", joined: "t" },
} as const;

export type TableName = keyof typeof PLACES;
export const TABLE_NAMES = Object.keys(PLACES) as TableName[];

/**
 * One table of SQLite for all of them. The thread's own row is of the kind '', and holds the version (lib/object-tables.ts). In rows of events `record` holds a pack of checkpoints, and `k3` the ids that it spans (packs.ts); in rows of runs `record` holds the hash of a fingerprint.
 */
const SCHEMA: TableSchema = {
  kind: "thread",
  steps: [
    `CREATE TABLE thread (kind TEXT, k1 ANY DEFAULT 0, k2 ANY DEFAULT 0, k3 ANY DEFAULT 0, i INTEGER, j INTEGER,
       record TEXT, t TEXT, u TEXT, v TEXT, PRIMARY KEY (kind, k1, k2, k3)) STRICT, WITHOUT ROWID`,
  ],
  version: {
    table: "thread",
    select: "SELECT coalesce(max(i), 1) AS format, coalesce(max(j), 1) AS steps FROM thread WHERE kind = ''",
    set: "UPDATE thread SET i = ?1, j = ?2 WHERE kind = ''",
  },
};

/** The row of a deleted thread whose outbox is left. */
const DELETED = "INSERT INTO thread (kind, k1, i, j) VALUES ('', 0, ?, ?) ON CONFLICT DO NOTHING";

export type OnConflict = "fail" | "keep" | "replace";

function selectText(table: TableName, statement: string): string {
  const columns = Object.entries(PLACES[table]).map(([column, place]) => `${place} AS ${column}`);
  return `WITH ${table} AS (SELECT ${columns.join(", ")} FROM main.thread WHERE ${rowsSql(table)}) ${statement}`;
}

function insertText(table: TableName, columns: string[], onConflict: OnConflict): string {
  const places = columnPlaces(table, columns);
  const values = [kindSql(table), ...places.map(() => "?")].join(", ");
  const insert = `INSERT INTO thread (${["kind", ...places].join(", ")}) VALUES (${values})`;
  if (onConflict === "fail") return insert;
  if (onConflict === "keep") return `${insert} ON CONFLICT DO NOTHING`;
  return `${insert} ON CONFLICT DO UPDATE SET ${places.map((place) => `${place} = excluded.${place}`).join(", ")}`;
}

const updateText = (table: TableName, columns: string[], key: string[]): string =>
  `UPDATE thread SET ${listAssignments(columnPlaces(table, columns))} WHERE ${rowsSql(table)} AND ${listConditions(columnPlaces(table, key))}`;

const removeText = (table: TableName, key: string[]): string =>
  `DELETE FROM thread WHERE ${rowsSql(table)} AND ${listConditions(columnPlaces(table, key))}`;

const columnPlaces = (table: TableName, columns: string[]): string[] =>
  columns.map((column) => (PLACES[table] as Record<string, string>)[column] ?? column);
const kindSql = (table: TableName): string => (table === "thread" ? "''" : `'${table}'`);
const rowsSql = (table: TableName): string => `kind = ${kindSql(table)}${table === "thread" ? " AND k1 = 1" : ""}`;
const listAssignments = (columns: string[]): string => columns.map((column) => `${column} = ?`).join(", ");
const listConditions = (columns: string[]): string => columns.map((column) => `${column} = ?`).join(" AND ");

export type SqlRow = Record<string, LongTextValue>;

/** The table that a statement reads. */
const TABLE = /\bFROM (\w+)/;
/** By what it is to do: the texts of statements, which are constants. */
const texts = new Map<string, string>();

/**
 * Statements on a thread's tables, with texts of any length (long-text.ts). The first row makes the table of SQLite. Reads of
 * a thread without it give nothing.
 */
export class Statements {
  /** Rows written since the object woke: what the bench reports. */
  rowsWritten = 0;
  /** What columns hold of texts: sealed, or a reference. Statements take and give that. */
  readonly texts: LongTexts;
  readonly #sql: SqlStorage;
  readonly #tables: ObjectTables;
  #closed = false;

  constructor(storage: Pick<DurableObjectStorage, "sql" | "transactionSync">, vault: TextVault = new TextVault("")) {
    this.#sql = storage.sql;
    this.texts = new LongTexts(this, vault);
    this.#tables = new ObjectTables(storage, SCHEMA);
  }

  /** What the thread's own row says of its version. */
  get version(): ObjectVersion {
    return this.#tables.version;
  }

  /** A newer version wrote the thread: statements throw. */
  get isNewer(): boolean {
    return this.#tables.isNewer;
  }

  /** Runs a SELECT on one table and gives its rows. */
  all<T extends object>(statement: string, ...params: LongTextValue[]): T[] {
    if (!this.#tables.made) return [];
    const text = this.#text(statement, () => selectText((TABLE.exec(statement)?.[1] ?? "") as TableName, statement));
    return this.#exec(text, params) as unknown as T[];
  }

  /** Inserts a row. False when the thread is closed. */
  insert(table: TableName, row: SqlRow, onConflict: OnConflict = "fail"): boolean {
    if (this.#closed) return false;
    this.#tables.make();
    const columns = Object.keys(row);
    const text = this.#text(`insert ${onConflict} ${table} ${columns.join()}`, () =>
      insertText(table, columns, onConflict),
    );
    this.#exec(text, Object.values(row));
    return true;
  }

  /** Sets columns of the rows with this key. */
  update(table: TableName, key: SqlRow, set: SqlRow): void {
    if (!this.#tables.made) return;
    const [columns, keys] = [Object.keys(set), Object.keys(key)];
    const text = this.#text(`update ${table} ${columns.join()} ${keys.join()}`, () => updateText(table, columns, keys));
    this.#exec(text, [...Object.values(set), ...Object.values(key)]);
  }

  /** Deletes the rows with this key, or with these first parts of it. */
  remove(table: TableName, key: SqlRow): void {
    if (!this.#tables.made) return;
    const keys = Object.keys(key);
    const text = this.#text(`remove ${table} ${keys.join()}`, () => removeText(table, keys));
    this.#exec(text, Object.values(key));
  }

  /** The table has been deleted, or a transaction failed and the table that it created was rolled back. */
  forget(): void {
    this.#tables.refresh();
  }

  /** Deletes the rows of all tables except `kept`. */
  dropAllBut(kept: TableName[]): void {
    this.#tables.make();
    const { version } = this.#tables;
    const kinds = kept.map((name) => `'${name}'`).join(", ");
    this.#exec(`DELETE FROM thread WHERE kind NOT IN (${kinds})`, []);
    this.#exec(DELETED, [version.format, version.steps]);
  }

  /** From here on nothing is found and nothing is written. */
  close(): void {
    this.#closed = true;
  }

  #exec(statement: string, params: LongTextValue[]): SqlRow[] {
    if (this.#closed) return [];
    const cursor = this.#sql.exec<SqlRow>(statement, ...params);
    const rows = cursor.toArray();
    this.rowsWritten += cursor.rowsWritten;
    return rows;
  }

  #text(key: string, make: () => string): string {
    let text = texts.get(key);
    if (text === undefined) texts.set(key, (text = make()));
    return text;
  }
}

// The rows of a thread's tables.

export interface RunRow {
  run_id: string;
  created: number;
  status: string;
  request: string;
  outcome: string | null;
  /** A hash of the fingerprint of its request (`LongTexts.hash`); null for one without a fingerprint. */
  fingerprint?: string | null;
}

/** Events that one flush wrote, and the metadata that they share: JSON arrays. */
export interface EventsRow {
  first_seq: number;
  n: number;
  last_seq: number;
  events: string;
  metas: string;
}

export interface SegmentRow extends EventsRow {
  /** JSON, an array of arrays of items. */
  chunks: string;
}

/** The texts of a segment in the order of their columns, and those that are events. */
export const SEGMENT_TEXTS = ["events", "metas", "chunks"] as const;
export const EVENT_TEXTS = ["events", "metas"] as const;

/** Checkpoints that one flush wrote. */
export interface PackRow {
  last_id: string;
  n: number;
  /** JSON, an array. */
  entries: string;
  /** The row of events that holds the pack. */
  carrier?: { first_seq: number; n: number };
}

export interface WritesRow {
  ns: string;
  checkpoint_id: string;
  n: number;
  body: string;
}

/** A JSON object with one member more. */
export const withMember = (object: string, name: string, json: string): string =>
  `${object.slice(0, -1)}${object.length > 2 ? "," : ""}"${name}":${json}}`;
