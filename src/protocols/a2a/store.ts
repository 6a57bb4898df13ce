import { and, count, desc, eq, gte, lt, lte, or, type SQL } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { a2aTasks } from "./table.ts";
import type { TaskState } from "./types.ts";
import { threadIds } from "../../threads/search/store.ts";

export type TaskRow = typeof a2aTasks.$inferSelect;

export interface TaskFilter {
  workspaceId: string;
  assistantId: string;
  threadId?: string;
  state?: TaskState;
  /** Milliseconds since the epoch; the status must be as new. */
  after?: number;
}

/** Where a page begins: after this row. */
export interface TaskCursor {
  updatedAt: number;
  id: string;
}

/** Writes a task's row unless a newer status is there. */
export async function putTask(db: Database, row: TaskRow): Promise<void> {
  await db
    .insert(a2aTasks)
    .values(row)
    .onConflictDoUpdate({
      target: [a2aTasks.workspaceId, a2aTasks.id],
      set: row,
      setWhere: lte(a2aTasks.updatedAt, row.updatedAt),
    });
}

/** Removes a task from the list: its thread is deleted. */
export async function removeTask(db: Database, workspaceId: string, id: string): Promise<void> {
  await db.delete(a2aTasks).where(and(eq(a2aTasks.workspaceId, workspaceId), eq(a2aTasks.id, id)));
}

/** Newest status first; one more than `limit`, for paging. */
export async function listTasks(
  db: Database,
  filter: TaskFilter,
  limit: number,
  cursor?: TaskCursor,
): Promise<TaskRow[]> {
  const { updatedAt, id } = a2aTasks;
  const from = cursor && or(lt(updatedAt, cursor.updatedAt), and(eq(updatedAt, cursor.updatedAt), lt(id, cursor.id)));
  return db
    .select()
    .from(a2aTasks)
    .where(and(whereTasks(filter), from))
    .orderBy(desc(updatedAt), desc(id))
    .limit(limit + 1)
    .all();
}

export async function countTasks(db: Database, filter: TaskFilter): Promise<number> {
  const row = await db.select({ n: count() }).from(a2aTasks).where(whereTasks(filter)).get();
  return row?.n ?? 0;
}

function whereTasks({ workspaceId, assistantId, threadId, state, after }: TaskFilter): SQL | undefined {
  return and(
    eq(a2aTasks.workspaceId, workspaceId),
    eq(a2aTasks.assistantId, assistantId),
    threadId === undefined ? undefined : eq(a2aTasks.threadId, threadId),
    state && eq(a2aTasks.state, state),
    after === undefined ? undefined : gte(a2aTasks.updatedAt, after),
  );
}

// Tasks that a user of the deployment's own Auth may find: those on threads whose metadata pass the Auth's filter.

type Metadata = Record<string, unknown>;

/** Tasks that are read at once. */
const PAGE = 200;

/** The tasks of the filter, newest status first, from `cursor` on, whose threads have `metadata`. */
export async function* visibleTasks(
  env: Env,
  db: Database,
  filter: TaskFilter,
  metadata: Metadata,
  cursor?: TaskCursor,
): AsyncGenerator<TaskRow, void, void> {
  for (let from = cursor; ;) {
    const rows = await listTasks(db, filter, PAGE, from);
    const page = rows.slice(0, PAGE);
    const ids = [...new Set(page.map(({ threadId }) => threadId))];
    const found = await threadIds(env, filter.workspaceId, { ids, metadata, limit: PAGE, offset: 0 });
    const visible = new Set(found.map(({ id }) => id));
    yield* page.filter(({ threadId }) => visible.has(threadId));
    from = page.at(-1);
    if (rows.length <= PAGE || !from) return;
  }
}
