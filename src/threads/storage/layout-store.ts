/**
 * How the tables of a thread are stored. Their rows share one table of SQLite, because Cloudflare bills two rows for each table
 * that is made. A thread of an earlier version has a table for each, and keeps them.
 */
import { FORMATS } from "../../lib/object-tables.ts";

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
 * holds a pack of checkpoints, and `k3` the ids that it spans (pack-store.ts).
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
