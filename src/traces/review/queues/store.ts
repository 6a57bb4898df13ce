/** D1: annotation queues. Their items are in item-store.ts. */
import { and, asc, desc, eq, sql } from "drizzle-orm";
import type { Database } from "../../../db/client.ts";
import { deleteAll, insertBelow } from "../../../db/writes.ts";
import { inList } from "../../../db/conditions.ts";
import { annotationItems, annotationQueues, annotationReviews } from "./table.ts";

export type QueueRow = typeof annotationQueues.$inferSelect;

export const MAX_QUEUES = 1_000;

const ofWorkspace = (workspaceId: string) => eq(annotationQueues.workspaceId, workspaceId);
const isQueue = (workspaceId: string, id: string) => and(ofWorkspace(workspaceId), eq(annotationQueues.id, id));

/** Inserts a queue. False when the workspace has as many as it may have. @throws when the id is taken (`isTaken`) */
export async function insertQueue(db: Database, row: QueueRow): Promise<boolean> {
  return insertBelow(db, annotationQueues, row, ofWorkspace(row.workspaceId), MAX_QUEUES);
}

export async function findQueue(db: Database, workspaceId: string, id: string): Promise<QueueRow | undefined> {
  return db.select().from(annotationQueues).where(isQueue(workspaceId, id)).get();
}

interface QueueQuery {
  ids?: string[];
  name?: string;
  name_contains?: string;
  dataset_id?: string;
  sort_by?: "created_at" | "name";
  sort_by_desc?: boolean;
  limit: number;
  offset: number;
}

/** Newest first, unless another order is requested. */
export async function listQueues(db: Database, workspaceId: string, wanted: QueueQuery): Promise<QueueRow[]> {
  const { ids, name, name_contains, dataset_id, sort_by = "created_at", sort_by_desc = true } = wanted;
  const column = sort_by === "name" ? annotationQueues.name : annotationQueues.createdAt;
  const order = sort_by_desc ? desc : asc;
  return db
    .select()
    .from(annotationQueues)
    .where(
      and(
        ofWorkspace(workspaceId),
        ids && inList(annotationQueues.id, ids),
        name === undefined ? undefined : eq(annotationQueues.name, name),
        name_contains === undefined
          ? undefined
          : sql`instr(lower(${annotationQueues.name}), lower(${name_contains})) > 0`,
        dataset_id === undefined ? undefined : eq(annotationQueues.defaultDataset, dataset_id),
      ),
    )
    .orderBy(order(column), order(annotationQueues.id))
    .limit(wanted.limit)
    .offset(wanted.offset)
    .all();
}

export async function listQueuesOfRun(db: Database, workspaceId: string, runId: string): Promise<QueueRow[]> {
  const having = db
    .select({ id: annotationItems.queueId })
    .from(annotationItems)
    .where(and(eq(annotationItems.workspaceId, workspaceId), eq(annotationItems.runId, runId)));
  return db
    .select()
    .from(annotationQueues)
    .where(and(ofWorkspace(workspaceId), sql`${annotationQueues.id} IN (${having})`))
    .orderBy(desc(annotationQueues.createdAt), desc(annotationQueues.id))
    .limit(MAX_QUEUES)
    .all();
}

/** Changes what is given. An item is complete by the number of reviewers that then counts. */
export async function updateQueue(
  db: Database,
  workspaceId: string,
  id: string,
  changes: Partial<QueueRow> & { updatedAt: number },
): Promise<QueueRow | undefined> {
  const [changed] = await db.batch([
    db.update(annotationQueues).set(changes).where(isQueue(workspaceId, id)).returning(),
    db
      .update(annotationItems)
      .set({ completedAt: completion(changes.updatedAt) })
      .where(and(eq(annotationItems.workspaceId, workspaceId), eq(annotationItems.queueId, id))),
  ]);
  return changed[0];
}

/** When an item was completed: its time if it was before, else `now`, or null when reviewers are missing. */
export function completion(now: number) {
  const needed = sql`(SELECT q.reviewers FROM annotation_queues q WHERE q.id = ${annotationItems.queueId})`;
  const done = sql`(SELECT count(*) FROM annotation_reviews r WHERE r.item_id = ${annotationItems.id} AND r.status = 'completed')`;
  return sql`CASE WHEN ${done} >= ${needed} THEN coalesce(${annotationItems.completedAt}, ${now}) END`;
}

/** Deletes a queue with its items. The queue goes last, so that a request that failed can be sent again. */
export async function deleteQueue(db: Database, workspaceId: string, id: string): Promise<void> {
  await deleteAll(db, annotationReviews, eq(annotationReviews.queueId, id));
  await deleteAll(
    db,
    annotationItems,
    and(eq(annotationItems.workspaceId, workspaceId), eq(annotationItems.queueId, id)),
  );
  await db.delete(annotationQueues).where(isQueue(workspaceId, id));
}

export async function countRuns(db: Database, workspaceId: string, ids: string[]): Promise<Map<string, number>> {
  const rows = await db
    .select({ id: annotationItems.queueId, count: sql<number>`count(*)` })
    .from(annotationItems)
    .where(and(eq(annotationItems.workspaceId, workspaceId), inList(annotationItems.queueId, ids)))
    .groupBy(annotationItems.queueId)
    .all();
  return new Map(rows.map(({ id, count }) => [id, count]));
}
