/** D1: the items of annotation queues, and what reviewers did with them. */
import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  not,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Database } from "../../../db/client.ts";
import { deleteAll } from "../../../db/writes.ts";
import { inList, inParameters } from "../../../db/conditions.ts";
import { annotationItems, annotationReviews } from "./table.ts";
import { completion, type QueueRow } from "./store.ts";

export type ItemRow = typeof annotationItems.$inferSelect;

/** What an item is about. A queue has it once. */
export const itemKey = ({ runId, projectId, threadId }: ItemRow): string => runId ?? `${projectId} ${threadId}`;

export const MAX_ITEMS = 100_000;

export type ItemSection = "needs_my_review" | "needs_others_review" | "archived" | "all";

/** An item as a reviewer sees it. */
export interface ReviewedItem extends ItemRow {
  effectiveAddedAt: number;
  /** Names of reviewers, as JSON lists. */
  completedBy: string;
  reservedBy: string;
}

const ofQueue = ({ workspaceId, id }: Pick<QueueRow, "workspaceId" | "id">) =>
  and(eq(annotationItems.workspaceId, workspaceId), eq(annotationItems.queueId, id));

/** A condition on the reviews of an item. */
const reviews = (what: SQL, which: SQL) =>
  sql`(SELECT ${what} FROM annotation_reviews r WHERE r.item_id = ${annotationItems.id} AND ${which})`;
const isReserved = (now: number) => sql`r.status = 'viewed' AND r.reserved_until > ${now}`;

/** The items of a section, as it is for one reviewer. Each item of the queue is in one of the three. */
function whereSection(section: ItemSection, queue: QueueRow, reviewer: string, now: number): SQL | undefined {
  if (section === "all") return undefined;
  if (section === "archived") return isNotNull(annotationItems.completedAt);
  const mine = reviews(sql`count(*)`, sql`r.reviewer = ${reviewer} AND r.status = 'completed'`);
  const others = reviews(
    sql`count(*)`,
    sql`r.reviewer <> ${reviewer} AND (r.status = 'completed' OR ${isReserved(now)})`,
  );
  const isMine = sql`(${mine} = 0 AND ${others} < ${queue.reviewers})`;
  return and(isNull(annotationItems.completedAt), section === "needs_my_review" ? isMine : not(isMine));
}

export interface ItemQuery {
  section: ItemSection;
  reviewer: string;
  /** Only the item with this id. */
  item?: string | undefined;
  type?: "RUN" | "THREAD" | undefined;
  archived?: boolean | undefined;
  /** When the trace started, microseconds. */
  startedFrom?: number | undefined;
  startedUntil?: number | undefined;
  /** When the item was completed, milliseconds. */
  completedAfter?: number | undefined;
  completedBefore?: number | undefined;
}

function whereItems(queue: QueueRow, wanted: ItemQuery, now: number): SQL | undefined {
  const { type, archived, startedFrom, startedUntil, completedAfter, completedBefore } = wanted;
  const { runId, startTime, completedAt } = annotationItems;
  return and(
    ofQueue(queue),
    whereSection(wanted.section, queue, wanted.reviewer, now),
    wanted.item === undefined ? undefined : eq(annotationItems.id, wanted.item),
    type && (type === "RUN" ? isNotNull(runId) : isNull(runId)),
    archived === undefined ? undefined : archived ? isNotNull(completedAt) : isNull(completedAt),
    startedFrom === undefined ? undefined : gte(startTime, startedFrom),
    startedUntil === undefined ? undefined : lte(startTime, startedUntil),
    completedAfter === undefined ? undefined : gt(completedAt, completedAfter),
    completedBefore === undefined ? undefined : lt(completedAt, completedBefore),
  );
}

/** The place of an item for a reviewer: where they have moved it, else when it was added. */
const orderFor = (reviewer: string) =>
  sql<number>`coalesce(${reviews(sql`r.override_added_at`, sql`r.reviewer = ${reviewer}`)}, ${annotationItems.addedAt})`;

/** A position in the order of a reviewer: of an item. */
export interface ItemPosition {
  /** `effectiveAddedAt`. */
  at: number;
  id: string;
}

export interface ItemPageQuery {
  limit: number;
  offset?: number;
  /** Only items behind this position. */
  after?: ItemPosition | undefined;
  /** Only items up to this position, newest first. */
  upTo?: ItemPosition | undefined;
}

/** Oldest first. */
export async function listItems(
  db: Database,
  queue: QueueRow,
  wanted: ItemQuery,
  { limit, offset = 0, after, upTo }: ItemPageQuery,
): Promise<ReviewedItem[]> {
  const now = Date.now();
  const order = orderFor(wanted.reviewer);
  const place = sql`(${order}, ${annotationItems.id})`;
  const direction = upTo ? desc : asc;
  const names = (which: SQL) => sql<string>`coalesce(${reviews(sql`json_group_array(r.reviewer)`, which)}, '[]')`;
  return db
    .select({
      ...getTableColumns(annotationItems),
      effectiveAddedAt: orderFor(wanted.reviewer).as("effective_added_at"),
      completedBy: names(sql`r.status = 'completed'`).as("completed_by"),
      reservedBy: names(isReserved(now)).as("reserved_by"),
    })
    .from(annotationItems)
    .where(
      and(
        whereItems(queue, wanted, now),
        after && sql`${place} > (${after.at}, ${after.id})`,
        upTo && sql`${place} <= (${upTo.at}, ${upTo.id})`,
      ),
    )
    .orderBy(direction(order), direction(annotationItems.id))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function countItems(db: Database, queue: QueueRow, wanted: ItemQuery): Promise<number> {
  return db.$count(annotationItems, whereItems(queue, wanted, Date.now()));
}

/** How many items of its section come before an item, for a reviewer. */
export async function countBefore(
  db: Database,
  queue: QueueRow,
  wanted: ItemQuery,
  item: ReviewedItem,
): Promise<number> {
  const before = sql`(${orderFor(wanted.reviewer)}, ${annotationItems.id}) < (${item.effectiveAddedAt}, ${item.id})`;
  return db.$count(annotationItems, and(whereItems(queue, wanted, Date.now()), before));
}

/** An item by its id, or by the id of its run. */
export async function findItem(
  db: Database,
  queue: Pick<QueueRow, "workspaceId" | "id">,
  id: string,
): Promise<ItemRow | undefined> {
  return db
    .select()
    .from(annotationItems)
    .where(and(ofQueue(queue), sql`(${annotationItems.id} = ${id} OR ${annotationItems.runId} = ${id})`))
    .get();
}

export async function findItemById(db: Database, workspaceId: string, id: string): Promise<ItemRow | undefined> {
  return db
    .select()
    .from(annotationItems)
    .where(and(eq(annotationItems.workspaceId, workspaceId), eq(annotationItems.id, id)))
    .get();
}

/**
 * Adds items. What the queue has already stays as it is. Returns the rows of all that were given. Undefined when the queue would
 * have more than `MAX_ITEMS`.
 */
export async function insertItems(db: Database, queue: QueueRow, rows: ItemRow[]): Promise<ItemRow[] | undefined> {
  const values = sql.join(
    Object.keys(getTableColumns(annotationItems)).map((key) => sql.raw(`s.value ->> '$.${key}'`)),
    sql`, `,
  );
  const room = sql`(SELECT count(*) FROM annotation_items i WHERE i.queue_id = ${queue.id}) + ${rows.length} <= ${MAX_ITEMS}`;
  // The queue may be deleted at the same time.
  const isThere = sql`EXISTS (SELECT 1 FROM annotation_queues q WHERE q.id = ${queue.id})`;
  const [first, ...others] = inParameters(rows).map((json) =>
    db
      .insert(annotationItems)
      .select(sql`SELECT ${values} FROM json_each(${json}) s WHERE ${room} AND ${isThere}`)
      .onConflictDoNothing(),
  );
  if (!first) return [];
  await db.batch([first, ...others]);
  const runs = rows.flatMap(({ runId }) => runId ?? []);
  const threads = rows.flatMap(({ threadId }) => threadId ?? []);
  const held = await db
    .select()
    .from(annotationItems)
    .where(
      and(
        ofQueue(queue),
        sql`(${inList(annotationItems.runId, runs)} OR ${inList(annotationItems.threadId, threads)})`,
      ),
    )
    .all();
  const byKey = new Map(held.map((row) => [itemKey(row), row]));
  const found = rows.flatMap((row) => byKey.get(itemKey(row)) ?? []);
  return found.length === rows.length ? found : undefined;
}

export async function updateItem(
  db: Database,
  { workspaceId, id }: ItemRow,
  changes: Partial<Pick<ItemRow, "addedAt" | "lastReviewedAt">>,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await db
    .update(annotationItems)
    .set(changes)
    .where(and(eq(annotationItems.workspaceId, workspaceId), eq(annotationItems.id, id)));
}

export async function removeItems(db: Database, queue: Pick<QueueRow, "workspaceId" | "id">, ids: string[]) {
  await deleteAll(
    db,
    annotationReviews,
    and(eq(annotationReviews.queueId, queue.id), inList(annotationReviews.itemId, ids)),
  );
  await deleteAll(db, annotationItems, and(ofQueue(queue), inList(annotationItems.id, ids)));
}

/** Removes the items that are these threads of a project. */
export async function removeThreadItems(
  db: Database,
  workspaceId: string,
  projectId: string,
  threadIds: string[],
): Promise<void> {
  const ofThreads = and(
    eq(annotationItems.workspaceId, workspaceId),
    eq(annotationItems.projectId, projectId),
    inList(annotationItems.threadId, threadIds),
  );
  const ids = db.select({ id: annotationItems.id }).from(annotationItems).where(ofThreads);
  await deleteAll(db, annotationReviews, inArray(annotationReviews.itemId, ids));
  await deleteAll(db, annotationItems, ofThreads);
}

/** The items of these runs, or all but those of other runs. */
export async function idsOfRuns(
  db: Database,
  queue: QueueRow,
  { runIds, except = [] }: { runIds?: string[] | undefined; except?: string[] | undefined },
): Promise<string[]> {
  const rows = await db
    .select({ id: annotationItems.id })
    .from(annotationItems)
    .where(
      and(
        ofQueue(queue),
        isNotNull(annotationItems.runId),
        runIds && inList(annotationItems.runId, runIds),
        except.length === 0 ? undefined : not(inList(annotationItems.runId, except)),
      ),
    )
    .all();
  return rows.map(({ id }) => id);
}

export interface ItemReview {
  reviewer: string;
  /** Null takes the review back. */
  status: "viewed" | "completed" | null;
  overrideAddedAt?: number | undefined;
}

/** Writes a review. False when others have reserved the item. */
export async function writeReview(
  db: Database,
  { id: itemId, queueId }: ItemRow,
  { reservationMinutes, reviewers }: QueueRow,
  { reviewer, status, overrideAddedAt }: ItemReview,
): Promise<boolean> {
  const at = Date.now();
  const own = and(eq(annotationReviews.itemId, itemId), eq(annotationReviews.reviewer, reviewer));
  const complete = db
    .update(annotationItems)
    .set({ completedAt: completion(at), ...(status === "completed" && { lastReviewedAt: at }) })
    .where(eq(annotationItems.id, itemId));
  if (status === null && overrideAddedAt === undefined) {
    await db.batch([db.delete(annotationReviews).where(own), complete]);
    return true;
  }
  const reservedUntil = status === "viewed" && reservationMinutes !== null ? at + reservationMinutes * 60_000 : null;
  const held = sql`(SELECT count(*) FROM annotation_reviews r WHERE r.item_id = ${itemId} AND r.reviewer <> ${reviewer} AND ${isReserved(at)})`;
  // A place in the queue alone is kept with a review that counts for nothing.
  const stored = status ?? "viewed";
  const [written] = await db.batch([
    db
      .insert(annotationReviews)
      .select(
        sql`SELECT ${itemId}, ${reviewer}, ${queueId}, ${stored}, ${at}, ${reservedUntil}, ${overrideAddedAt ?? null}
          WHERE ${reservedUntil} IS NULL OR ${held} < ${reviewers}`,
      )
      .onConflictDoUpdate({
        target: [annotationReviews.itemId, annotationReviews.reviewer],
        set: {
          // A second look takes nothing back.
          status: sql`CASE WHEN ${status} = 'viewed' THEN ${annotationReviews.status} ELSE excluded.status END`,
          at,
          reservedUntil,
          overrideAddedAt: sql`coalesce(excluded.override_added_at, ${annotationReviews.overrideAddedAt})`,
        },
      })
      .returning({ itemId: annotationReviews.itemId }),
    complete,
  ]);
  return written.length > 0;
}

// D1: the items of annotation queues that end with what they are about.

/** Deletes the items of traces that are deleted; of all traces and threads of the project without a list. */
export async function removeTraceItems(
  db: Database,
  workspaceId: string,
  projectId: string,
  traceIds?: string[],
): Promise<void> {
  const which = and(
    eq(annotationItems.workspaceId, workspaceId),
    eq(annotationItems.projectId, projectId),
    traceIds && inList(annotationItems.traceId, traceIds),
  );
  const ids = db.select({ id: annotationItems.id }).from(annotationItems).where(which);
  await deleteAll(db, annotationReviews, sql`${annotationReviews.itemId} IN (${ids})`);
  await deleteAll(db, annotationItems, which);
}
