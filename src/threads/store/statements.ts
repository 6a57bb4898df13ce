/** The layouts of a thread's tables, and the statements on them: all tables in one, or a table for each. */
import { FORMATS } from "../../lib/object-tables.ts";
import { LongTexts, type LongTextValue, TextVault } from "./long-text.ts";
import { isSealed } from "../../access/encryption/ring.ts";

// How the tables of a thread are stored. Their rows share one table of SQLite, because Cloudflare bills two rows for each table
// that is made. A thread of an earlier version has a table for each, and keeps them.

/** The columns of each table, its key first, with the place of each in the shared table. */
const PLACES = {
  thread: { only: "k1", record: "record" },
  runs: { run_id: "k1", created: "i", status: "t", request: "u", outcome: "v" },
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
} as const;

export type TableName = keyof typeof PLACES;
export const TABLE_NAMES = Object.keys(PLACES) as TableName[];

/** What makes each table of a thread of an earlier version. */
const SEPARATE: Record<TableName, string> = {
  thread: "CREATE TABLE thread (only INTEGER PRIMARY KEY CHECK (only = 1), record TEXT NOT NULL) STRICT",
  runs: `CREATE TABLE runs (run_id TEXT PRIMARY KEY, created INTEGER NOT NULL, status TEXT NOT NULL,
    request TEXT NOT NULL, outcome TEXT) STRICT, WITHOUT ROWID`,
  segments: `CREATE TABLE segments (first_seq INTEGER, n INTEGER, last_seq INTEGER NOT NULL, events TEXT NOT NULL,
    metas TEXT NOT NULL, chunks TEXT NOT NULL, PRIMARY KEY (first_seq, n)) STRICT, WITHOUT ROWID`,
  packs: `CREATE TABLE packs (last_id TEXT, n INTEGER, first_id TEXT NOT NULL, entries TEXT NOT NULL,
    PRIMARY KEY (last_id, n)) STRICT, WITHOUT ROWID`,
  heads: "CREATE TABLE heads (ns TEXT PRIMARY KEY, id TEXT NOT NULL) STRICT, WITHOUT ROWID",
  writes: `CREATE TABLE writes (ns TEXT, checkpoint_id TEXT, n INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (ns, checkpoint_id, n)) STRICT, WITHOUT ROWID`,
  blobs: `CREATE TABLE blobs (hash TEXT, part INTEGER, body TEXT NOT NULL, PRIMARY KEY (hash, part)) STRICT,
    WITHOUT ROWID`,
  outbox: `CREATE TABLE outbox (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, due INTEGER NOT NULL) STRICT`,
  tasks: "CREATE TABLE tasks (task_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
  answers: `CREATE TABLE answers (interrupt_id TEXT, n INTEGER, body TEXT NOT NULL, PRIMARY KEY (interrupt_id, n)) STRICT,
    WITHOUT ROWID`,
  links: "CREATE TABLE links (link_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
};

/**
 * The shared table. The version before reads the column `record` of the first row of a table with this name: it finds a format
 * that it does not know, and leaves the thread alone. So the thread's own row has the first place. In rows of events the column
 * holds a pack of checkpoints, and `k3` the ids that it spans (packs.ts).
 */
const SHARED = `CREATE TABLE thread (kind TEXT, k1 ANY DEFAULT 0, k2 ANY DEFAULT 0, k3 ANY DEFAULT 0, i INTEGER, j INTEGER,
  record TEXT, t TEXT, u TEXT, v TEXT, PRIMARY KEY (kind, k1, k2, k3)) STRICT, WITHOUT ROWID`;

/** What the first row says when the thread itself was deleted. */
export const DELETED = `INSERT INTO thread (kind, k1, record) VALUES ('', 0, '{"format":${FORMATS.thread}}') ON CONFLICT DO NOTHING`;

export type OnConflict = "fail" | "keep" | "replace";

/** The statements on one of the two layouts. The same statement has the same text. */
export interface Layout {
  readonly format: number;
  /** Rows of events have room for packs of checkpoints. */
  readonly carries: boolean;
  /** The table of SQLite that holds the rows of a table. */
  holdingTable: (table: TableName) => string;
  definition: (table: TableName) => string;
  /** `statement`: a SELECT on one table. */
  select: (table: TableName, statement: string) => string;
  insert: (table: TableName, columns: string[], onConflict: OnConflict) => string;
  update: (table: TableName, columns: string[], key: string[]) => string;
  remove: (table: TableName, key: string[]) => string;
}

/** The layout of a thread of an earlier version. */
export const separate: Layout = {
  format: 1,
  carries: false,
  holdingTable: (table) => table,
  definition: (table) => SEPARATE[table],
  select: (_table, statement) => statement,
  insert: (table, columns, onConflict) => insertInto(table, columns, columns, onConflict),
  update: (table, columns, key) => `UPDATE ${table} SET ${listAssignments(columns)} WHERE ${listConditions(key)}`,
  remove: (table, key) => `DELETE FROM ${table} WHERE ${listConditions(key)}`,
};

/** The layout of a thread that this version has made. */
export const shared: Layout = {
  format: FORMATS.thread,
  carries: true,
  holdingTable: () => "thread",
  definition: () => SHARED,
  select(table, statement) {
    const columns = Object.entries(PLACES[table]).map(([column, place]) => `${place} AS ${column}`);
    return `WITH ${table} AS (SELECT ${columns.join(", ")} FROM main.thread WHERE ${rowsSql(table)}) ${statement}`;
  },
  insert: (table, columns, onConflict) =>
    insertInto(
      "thread",
      ["kind", ...columnPlaces(table, columns)],
      columnPlaces(table, columns),
      onConflict,
      kindSql(table),
    ),
  update: (table, columns, key) =>
    `UPDATE thread SET ${listAssignments(columnPlaces(table, columns))} WHERE ${rowsSql(table)} AND ${listConditions(columnPlaces(table, key))}`,
  remove: (table, key) => `DELETE FROM thread WHERE ${rowsSql(table)} AND ${listConditions(columnPlaces(table, key))}`,
};

function insertInto(holder: string, columns: string[], set: string[], onConflict: OnConflict, kind?: string): string {
  const values = [...(kind === undefined ? [] : [kind]), ...set.map(() => "?")].join(", ");
  const insert = `INSERT INTO ${holder} (${columns.join(", ")}) VALUES (${values})`;
  if (onConflict === "fail") return insert;
  if (onConflict === "keep") return `${insert} ON CONFLICT DO NOTHING`;
  return `${insert} ON CONFLICT DO UPDATE SET ${set.map((column) => `${column} = excluded.${column}`).join(", ")}`;
}

const columnPlaces = (table: TableName, columns: string[]): string[] =>
  columns.map((column) => (PLACES[table] as Record<string, string>)[column] ?? column);
const kindSql = (table: TableName): string => (table === "thread" ? "''" : `'${table}'`);
const rowsSql = (table: TableName): string => `kind = ${kindSql(table)}${table === "thread" ? " AND k1 = 1" : ""}`;
const listAssignments = (columns: string[]): string => columns.map((column) => `${column} = ?`).join(", ");
const listConditions = (columns: string[]): string => columns.map((column) => `${column} = ?`).join(" AND ");

export type SqlRow = Record<string, LongTextValue>;

/** The table that a statement reads. */
const TABLE = /\bFROM (\w+)/;
/** By layout and what it is to do: the texts of statements, which are constants. */
const texts = new Map<Layout, Map<string, string>>([
  [separate, new Map<string, string>()],
  [shared, new Map<string, string>()],
]);

/**
 * Statements on a thread's tables, in whichever layout it has, with texts of any length (long-text.ts). The first row of
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
    vault: TextVault = new TextVault(""),
  ) {
    this.texts = new LongTexts(this, vault);
    this.forget();
  }

  /** The format of what this object stores (lib/object-tables.ts). */
  get format(): number {
    return this.#layout.format;
  }

  /** Whether rows of events have room for packs of checkpoints. */
  get carries(): boolean {
    return this.#layout.carries;
  }

  /** Runs a SELECT on one table and gives its rows. */
  all<T extends object>(statement: string, ...params: LongTextValue[]): T[] {
    const table = this.#text(`table ${statement}`, () => TABLE.exec(statement)?.[1] ?? "") as TableName;
    if (!this.#made.has(this.#layout.holdingTable(table))) return [];
    const text = this.#text(statement, () => this.#layout.select(table, statement));
    return this.#exec(text, params) as unknown as T[];
  }

  /** Inserts a row. False when the thread is closed. */
  insert(table: TableName, row: SqlRow, onConflict: OnConflict = "fail"): boolean {
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
  update(table: TableName, key: SqlRow, set: SqlRow): void {
    if (!this.#made.has(this.#layout.holdingTable(table))) return;
    const [columns, keys] = [Object.keys(set), Object.keys(key)];
    const text = this.#text(`update ${table} ${columns.join()} ${keys.join()}`, () =>
      this.#layout.update(table, columns, keys),
    );
    this.#exec(text, [...Object.values(set), ...Object.values(key)]);
  }

  /** Deletes the rows with this key, or with these first parts of it. */
  remove(table: TableName, key: SqlRow): void {
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

  #exec(statement: string, params: LongTextValue[]): SqlRow[] {
    if (this.#closed) return [];
    const cursor = this.sql.exec<SqlRow>(statement, ...params);
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

// The rows of a thread's tables.

export interface RunRow {
  run_id: string;
  created: number;
  status: string;
  request: string;
  outcome: string | null;
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

/** A sealed record as its row holds it. The version before reads the format, answers 503 and writes nothing (lib/object-tables.ts). */
const SEALED_RECORD = '{"format":2,"sealed":';

export const wrapRecord = (record: string): string =>
  isSealed(record) ? `${SEALED_RECORD}${JSON.stringify(record)}}` : record;

/** What `wrapped` was given. */
export const unwrapRecord = (held: string): string =>
  held.startsWith(SEALED_RECORD) ? (JSON.parse(held) as { sealed: string }).sealed : held;
