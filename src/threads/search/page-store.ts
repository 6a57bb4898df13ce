/** Which threads of a shard a search finds, and in which order. */
import { and, eq, getTableColumns, gt, or, type SQL, sql } from "drizzle-orm";
import type { DrizzleSqliteDODatabase } from "drizzle-orm/durable-sqlite";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { inList } from "../../db/conditions.ts";
import { contains } from "../../db/conditions.ts";
import type { Json } from "../../lib/json.ts";
import type { IndexRow, RowVersion, SortBy, ThreadFilter, ThreadPage } from "./rpc.ts";

type Database = DrizzleSqliteDODatabase<Record<string, unknown>>;

/** What makes it is in tables.ts. */
const threads = sqliteTable("threads", {
  id: text("id").primaryKey(),
  status: text("status").notNull(),
  metadata: text("metadata", { mode: "json" }).$type<Json>().notNull(),
  config: text("config", { mode: "json" }).$type<Json>().notNull(),
  values: text("values", { mode: "json" }).$type<Json>(),
  /** 1: it has values; 2: it has an open run, which in rows of version 1.0 only the status says. */
  flags: integer("has_values").notNull(),
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
  const byId = new Map(rows.map((row) => [row.id, toIndexRow(row)]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

function toIndexRow({ flags, ...row }: typeof threads.$inferSelect): IndexRow {
  return { ...row, hasValues: (flags & 1) === 1, open: flags > 1 || row.status === "busy" };
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
  const isOpen = or(gt(threads.flags, 1), eq(threads.status, "busy"));
  return and(
    ids && inList(threads.id, ids),
    after === undefined ? undefined : gt(threads.id, after),
    status && eq(threads.status, status),
    open && isOpen,
    unfinished && or(isOpen, eq(threads.status, "interrupted")),
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
