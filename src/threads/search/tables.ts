/** The tables of one shard of a workspace's thread index, in its Durable Object's SQLite, and every statement on them. */
import { and, eq, getTableColumns, gt, or, type SQL, sql } from "drizzle-orm";
import { type DrizzleSqliteDODatabase, drizzle } from "drizzle-orm/durable-sqlite";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { inList, contains, exactJson } from "../../db/conditions.ts";
import type { Json } from "../../lib/json.ts";
import type { IndexRow, RowVersion, SortBy, ThreadFilter, ThreadPage } from "./rpc.ts";
import { ObjectTables, readMeta, type TableSchema, writeMeta } from "../../lib/object-tables.ts";

// Which threads of a shard a search finds, and in which order.

type Database = DrizzleSqliteDODatabase<Record<string, unknown>>;

/** `SCHEMA` makes it. */
const threads = sqliteTable("threads", {
  id: text("id").primaryKey(),
  status: text("status").notNull(),
  metadata: exactJson("metadata").notNull(),
  config: exactJson("config").notNull(),
  values: text("values", { mode: "json" }).$type<Json>(),
  hasValues: integer("has_values", { mode: "boolean" }).notNull(),
  /** A run has not ended, also one that is not due yet. */
  open: integer("open", { mode: "boolean" }).notNull(),
  interrupts: text("interrupts", { mode: "json" }).$type<Json>().notNull(),
  error: text("error", { mode: "json" }).$type<Json>(),
  createdAt: integer("created_at").notNull(),
  updatedAt: integer("updated_at").notNull(),
  stateUpdatedAt: integer("state_updated_at").notNull(),
  revision: integer("revision").notNull(),
});

const SORTS: Record<SortBy, SQL> = {
  thread_id: sql`id`,
  status: sql`status`,
  created_at: sql`created_at`,
  updated_at: sql`updated_at`,
  state_updated_at: sql`state_updated_at`,
};
/** The orders that an index has. */
const INDEXED: SortBy[] = ["thread_id", "created_at", "updated_at"];

/**
 * The number of threads that a filtered search in the order of an index reads first. Frequent matches are among them.
 * In that order SQLite looks up each row apart, which for all threads takes many times longer than a sort.
 */
const FIRST = 200;

/** The index that holds what most filters test, so that all threads are searched without their states. */
const NARROW = sql`threads INDEXED BY threads_updated`;

/** The ids of a page of threads, in its order. */
export function selectIds(db: Database, { limit, offset, sortBy, sortOrder, ...filter }: ThreadPage): string[] {
  const direction = sortOrder === "asc" ? sql`ASC` : sql`DESC`;
  const column = SORTS[sortBy];
  const inOrder = sql`ORDER BY ${column} ${direction}, id ${direction}`;
  const page = sql`LIMIT ${limit} OFFSET ${offset}`;
  const read = (query: SQL) => db.all<{ id: string }>(query).map(({ id }) => id);
  const where = whereThreads(filter);
  const isIndexed = INDEXED.includes(sortBy);
  if (!where && isIndexed) return read(sql`SELECT id FROM threads ${inOrder} ${page}`);
  if (where && isIndexed && !filter.ids) {
    const first = sql`(SELECT * FROM threads ${inOrder} LIMIT ${FIRST}) threads`;
    const found = read(sql`SELECT id FROM ${first} WHERE ${where} ${inOrder} ${page}`);
    if (found.length === limit) return found;
  }
  // With `+` SQLite sorts what it finds. Without it, it would take the index of the order.
  return read(sql`SELECT id FROM ${fromFor(filter)} WHERE ${where ?? sql`1`}
    ORDER BY +${column} ${direction}, +id ${direction} ${page}`);
}

/** The rows of these threads, in this order, as far as they exist. */
export function selectRows(db: Database, ids: string[]): IndexRow[] {
  const rows = db.select(getTableColumns(threads)).from(threads).where(inList(threads.id, ids)).all();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Threads by filter, in the order of their ids. */
export function selectVersions(db: Database, filter: ThreadFilter, limit: number, offset: number): RowVersion[] {
  return db.all(sql`SELECT id, revision FROM ${fromFor(filter)} WHERE ${whereThreads(filter) ?? sql`1`}
    ORDER BY id LIMIT ${limit} OFFSET ${offset}`);
}

export function selectCount(db: Database, filter: ThreadFilter): number {
  const query = sql`SELECT count(*) n FROM ${fromFor(filter)} WHERE ${whereThreads(filter) ?? sql`1`}`;
  return db.get<{ n: number }>(query).n;
}

/** Where all threads are searched: in the table only for ids, and for a filter that reads states. */
const fromFor = ({ ids, values = {}, query = [] }: ThreadFilter): SQL =>
  ids || Object.keys(values).length > 0 || query.length > 0 ? sql`threads` : NARROW;

function whereThreads(filter: ThreadFilter): SQL | undefined {
  const { ids, metadata = {}, values = {}, status, open, unfinished, after, query = [] } = filter;
  return and(
    ids && inList(threads.id, ids),
    after === undefined ? undefined : gt(threads.id, after),
    status && eq(threads.status, status),
    open && eq(threads.open, true),
    unfinished && or(eq(threads.open, true), eq(threads.status, "interrupted")),
    Object.keys(metadata).length > 0 ? contains(threads.metadata, metadata) : undefined,
    Object.keys(values).length > 0 ? contains(threads.values, values) : undefined,
    ...query.map(matchWord),
  );
}

/**
 * The word is in the title or in a message's text. The case of ASCII letters is ignored. `instr` because a pattern of
 * LIKE has at most 50 bytes. The text of the whole state is tested first, which is much cheaper than parsing it.
 */
function matchWord(word: string): SQL {
  const asJson = JSON.stringify(word).slice(1, -1);
  return sql`(
    instr(lower(coalesce(${threads.metadata} ->> '$.title', '')), lower(${word})) > 0
    OR (instr(lower(${threads.values}), lower(${asJson})) > 0 AND EXISTS (
      SELECT 1 FROM json_tree(${threads.values}, '$.messages') part
      WHERE part.type = 'text' AND part.key IN ('content', 'text') AND instr(lower(part.value), lower(${word})) > 0)))`;
}

const SCHEMA: TableSchema = {
  kind: "index",
  steps: [
    `CREATE TABLE threads (id TEXT PRIMARY KEY, status TEXT NOT NULL, metadata TEXT NOT NULL, config TEXT NOT NULL,
       "values" TEXT, has_values INTEGER NOT NULL, open INTEGER NOT NULL, interrupts TEXT NOT NULL, error TEXT,
       created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, state_updated_at INTEGER NOT NULL,
       revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
     CREATE INDEX threads_created ON threads (created_at);
     -- Holds what filters test and what rows are sorted by, so that a search through all threads reads no states. Each
     -- write of a row writes this index anyway, because of the time.
     CREATE INDEX threads_updated ON threads
       (updated_at, id, created_at, state_updated_at, status, open, revision, metadata);`,
  ],
};

/** The columns that a run changes. */
const CHANGED = [
  "status",
  "metadata",
  "config",
  '"values"',
  "has_values",
  "open",
  "interrupts",
  "error",
  "updated_at",
  "state_updated_at",
];
const COMPARED = [...CHANGED, "created_at"];
const excluded = (column: string) => `excluded.${column}`;

/**
 * Written for each run, so without the query builder. A thread that wakes cannot know whether its row is behind, and sends it again:
 * a row that says the same is not written.
 */
const PUT = `INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
  ${[...CHANGED, "revision"].map((column) => `${column} = ${excluded(column)}`).join(", ")}
  WHERE revision <= excluded.revision AND (${COMPARED.join(", ")}) IS NOT (${COMPARED.map(excluded).join(", ")})
  RETURNING 1`;

/**
 * The time of creation changes only when a thread of the same id follows a deleted one. In `PUT` it would write a row of its
 * index for each run: SQLite writes the indexes of all columns that a statement sets, changed or not.
 */
const PUT_CREATED = "UPDATE threads SET created_at = ?1 WHERE id = ?2 AND created_at <> ?1 AND revision = ?3";

/** How many revisions that are not in their rows an object remembers. */
const MAX_UNWRITTEN = 1_000;

/** What became of the rows of one transaction. */
export interface Put {
  written: IndexRow[];
  /** The ids of threads that have a newer row. */
  refused: Set<string>;
}

export class IndexTables {
  readonly #sql: SqlStorage;
  readonly #db: ReturnType<typeof drizzle>;
  readonly #tables: ObjectTables;
  /** By thread, the newest revision that said the same as the row. One that is older and comes later is refused like any other. */
  readonly #unwritten = new Map<string, number>();

  constructor(storage: DurableObjectStorage) {
    this.#sql = storage.sql;
    this.#db = drizzle(storage);
    this.#tables = new ObjectTables(storage, SCHEMA);
  }

  /** Writes rows unless newer ones are there, or ones that say the same, in one transaction. */
  put(rows: IndexRow[]): Put {
    const put: Put = { written: [], refused: new Set() };
    const unwritten = new Map<string, number>();
    this.#tables.write(() => {
      for (const row of rows) {
        const { id, revision } = row;
        if (revision < (unwritten.get(id) ?? this.#unwritten.get(id) ?? 0)) put.refused.add(id);
        else if (this.#putRow(row)) put.written.push(row);
        else if (this.#isOlder(row)) put.refused.add(id);
        else unwritten.set(id, revision);
      }
    });
    for (const { id } of put.written) this.#unwritten.delete(id);
    for (const [id, revision] of unwritten) this.#remember(id, revision);
    return put;
  }

  #putRow(row: IndexRow): boolean {
    const { id, status, open, metadata, config, values, hasValues, interrupts, error, revision } = row;
    const texts = [JSON.stringify(metadata), JSON.stringify(config), values && JSON.stringify(values)];
    const rest = [hasValues ? 1 : 0, open ? 1 : 0, JSON.stringify(interrupts), error && JSON.stringify(error)];
    const times = [row.createdAt, row.updatedAt, row.stateUpdatedAt, revision];
    if (this.#sql.exec(PUT, id, status, ...texts, ...rest, ...times).toArray().length === 0) return false;
    this.#sql.exec(PUT_CREATED, row.createdAt, id, revision);
    return true;
  }

  #isOlder({ id, revision }: IndexRow): boolean {
    return this.#sql.exec("SELECT 1 FROM threads WHERE id = ? AND revision > ?", id, revision).toArray().length > 0;
  }

  #remember(id: string, revision: number): void {
    this.#unwritten.delete(id);
    this.#unwritten.set(id, revision);
    const [oldest] = this.#unwritten.keys();
    if (this.#unwritten.size > MAX_UNWRITTEN && oldest !== undefined) this.#unwritten.delete(oldest);
  }

  /** Removes a row; with `revision`, only while it is the row's. */
  remove(id: string, revision?: number): boolean {
    if (!this.#tables.made) return false;
    if (revision !== undefined && revision < (this.#unwritten.get(id) ?? 0)) return false;
    this.#unwritten.delete(id);
    const removed =
      revision === undefined
        ? this.#sql.exec("DELETE FROM threads WHERE id = ? RETURNING id", id)
        : this.#sql.exec("DELETE FROM threads WHERE id = ? AND revision = ? RETURNING id", id, revision);
    return removed.toArray().length > 0;
  }

  /** How many shards the workspace's index has, as shard 0 knows. */
  get shards(): number {
    return this.#tables.made ? ((readMeta(this.#sql, "shards") as number | undefined) ?? 1) : 1;
  }

  set shards(shards: number) {
    this.#tables.write(() => writeMeta(this.#sql, "shards", shards));
  }

  /** The ids of a page of threads, in its order. */
  page(page: ThreadPage): string[] {
    return this.#tables.made ? selectIds(this.#db, page) : [];
  }

  /** The rows of these threads, in this order, as far as they exist. */
  rows(ids: string[]): IndexRow[] {
    return this.#tables.made ? selectRows(this.#db, ids) : [];
  }

  /** In the order of the ids. */
  ids(filter: ThreadFilter, limit: number, offset: number): RowVersion[] {
    return this.#tables.made ? selectVersions(this.#db, filter, limit, offset) : [];
  }

  count(filter: ThreadFilter): number {
    return this.#tables.made ? selectCount(this.#db, filter) : 0;
  }

  countByStatus(): Record<string, number> {
    if (!this.#tables.made) return {};
    const rows = this.#sql.exec<{ status: string; n: number }>(
      "SELECT status, count(*) n FROM threads GROUP BY status",
    );
    return Object.fromEntries(rows.toArray().map(({ status, n }) => [status, n]));
  }

  /** Bytes that the shard takes. */
  get size(): number {
    return this.#sql.databaseSize;
  }
}
