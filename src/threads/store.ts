/** The index of threads in D1. */
import { and, asc, count, desc, eq, type SQL, sql } from "drizzle-orm";
import { among } from "../db/among.ts";
import { contains } from "../db/contains.ts";
import type { Database } from "../db/client.ts";
import { threads } from "../db/schema.ts";
import type { Json, ThreadStatus } from "./rpc.ts";

export type IndexRow = typeof threads.$inferSelect;
export type RowVersion = Pick<IndexRow, "id" | "revision">;

export const SORTS = {
  thread_id: threads.id,
  status: threads.status,
  created_at: threads.createdAt,
  updated_at: threads.updatedAt,
  state_updated_at: threads.stateUpdatedAt,
};

export interface ThreadFilter {
  ids?: string[];
  metadata?: Json;
  values?: Json;
  status?: ThreadStatus;
}

export interface ThreadSearch extends ThreadFilter {
  limit: number;
  offset: number;
  sortBy: keyof typeof SORTS;
  sortOrder: "asc" | "desc";
}

/** Writes a thread's row unless a newer one is there. */
export async function putThread(db: Database, row: IndexRow): Promise<void> {
  await db
    .insert(threads)
    .values(row)
    .onConflictDoUpdate({
      target: [threads.workspaceId, threads.id],
      set: row,
      setWhere: sql`${threads.revision} <= ${row.revision}`,
    });
}

/** Removes a thread's row. */
export async function removeThread(db: Database, workspaceId: string, id: string): Promise<void> {
  await db.delete(threads).where(and(eq(threads.workspaceId, workspaceId), eq(threads.id, id)));
}

/** Removes rows that have not been written since they were read. */
export async function removeRows(db: Database, workspaceId: string, rows: RowVersion[]): Promise<void> {
  if (rows.length === 0) return;
  const given = JSON.stringify(rows.map(({ id, revision }) => [id, revision]));
  const unchanged = sql`(${threads.id}, ${threads.revision}) IN (SELECT value ->> 0, value ->> 1 FROM json_each(${given}))`;
  await db.delete(threads).where(and(eq(threads.workspaceId, workspaceId), unchanged));
}

/** The ids of threads by filter, in their order, from `offset` on; one more than `limit`, for paging. */
export async function threadIds(
  db: Database,
  workspaceId: string,
  { limit, offset, ...filter }: ThreadFilter & { limit: number; offset: number },
): Promise<RowVersion[]> {
  return db
    .select({ id: threads.id, revision: threads.revision })
    .from(threads)
    .where(matching(workspaceId, filter))
    .orderBy(asc(threads.id))
    .limit(limit + 1)
    .offset(offset)
    .all();
}

/** Rows by filter; one more than `limit`, for paging. States too large for the index are matched by nobody here. */
export async function searchThreads(db: Database, workspaceId: string, search: ThreadSearch): Promise<IndexRow[]> {
  const order = search.sortOrder === "asc" ? asc : desc;
  return db
    .select()
    .from(threads)
    .where(matching(workspaceId, search))
    .orderBy(order(SORTS[search.sortBy]), order(threads.id))
    .limit(search.limit + 1)
    .offset(search.offset)
    .all();
}

/** How many rows a search would find. */
export async function countThreads(db: Database, workspaceId: string, filter: ThreadFilter): Promise<number> {
  const row = await db.select({ n: count() }).from(threads).where(matching(workspaceId, filter)).get();
  return row?.n ?? 0;
}

function matching(workspaceId: string, { ids, metadata = {}, values = {}, status }: ThreadFilter): SQL | undefined {
  return and(
    eq(threads.workspaceId, workspaceId),
    ids && among(threads.id, ids),
    status && eq(threads.status, status),
    contains(threads.metadata, metadata),
    Object.keys(values).length > 0 ? contains(threads.values, values) : undefined,
  );
}

/** How many threads have each status. */
export async function countByStatus(db: Database, workspaceId: string): Promise<Record<string, number>> {
  const rows = await db
    .select({ status: threads.status, n: count() })
    .from(threads)
    .where(eq(threads.workspaceId, workspaceId))
    .groupBy(threads.status)
    .all();
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}
