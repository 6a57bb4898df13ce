/** D1: the location of each feedback. */
import { and, desc, eq, gte, isNotNull, isNull, lte } from "drizzle-orm";
import { inList } from "../../db/conditions.ts";
import { deleteAll } from "../../db/writes.ts";
import type { Database } from "../../db/client.ts";
import { feedbackPlaces } from "../projects/table.ts";
import type { Place } from "../types.ts";

export type FeedbackPlace = typeof feedbackPlaces.$inferSelect;

export interface FeedbackWanted {
  run?: string[];
  session?: string[];
  key?: string[];
  source?: string[];
  user?: string[];
  has_comment?: boolean;
  has_score?: boolean;
  level?: "run" | "session";
  /** Milliseconds, both included. */
  min_created_at?: number;
  max_created_at?: number;
  limit: number;
  offset: number;
}

/** Writes the location of a feedback. A location that is already written does not change. */
export async function savePlace(db: Database, row: FeedbackPlace): Promise<void> {
  const { key, source, userId, hasScore, hasComment } = row;
  await db
    .insert(feedbackPlaces)
    .values(row)
    .onConflictDoUpdate({
      target: [feedbackPlaces.workspaceId, feedbackPlaces.id],
      set: { key, source, userId, hasScore, hasComment },
    });
}

/** Changes the shard of a feedback, and writes its location when a request that stores it has not come so far. */
export async function movePlace(db: Database, row: FeedbackPlace): Promise<void> {
  const target = [feedbackPlaces.workspaceId, feedbackPlaces.id];
  await db
    .insert(feedbackPlaces)
    .values(row)
    .onConflictDoUpdate({ target, set: { shard: row.shard } });
}

export async function findPlace(db: Database, workspaceId: string, id: string): Promise<FeedbackPlace | undefined> {
  return db
    .select()
    .from(feedbackPlaces)
    .where(and(eq(feedbackPlaces.workspaceId, workspaceId), eq(feedbackPlaces.id, id)))
    .get();
}

/** A run can have more feedback than fits in one parameter of a statement, which is at most 2 MB. */
const AT_ONCE = 10_000;

/** Deletes the locations of these feedbacks. */
export async function deletePlacesById(db: Database, workspaceId: string, ids: string[]): Promise<void> {
  const { workspaceId: workspace, id } = feedbackPlaces;
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = inList(id, ids.slice(at, at + AT_ONCE));
    await deleteAll(db, feedbackPlaces, and(eq(workspace, workspaceId), some));
  }
}

export async function deletePlace(db: Database, workspaceId: string, id: string): Promise<void> {
  await db.delete(feedbackPlaces).where(and(eq(feedbackPlaces.workspaceId, workspaceId), eq(feedbackPlaces.id, id)));
}

export async function deletePartitionPlaces(
  db: Database,
  workspaceId: string,
  { projectId, day, shard }: Place,
): Promise<void> {
  const ofProject = and(eq(feedbackPlaces.workspaceId, workspaceId), eq(feedbackPlaces.projectId, projectId));
  const ofShard = and(ofProject, eq(feedbackPlaces.day, day), eq(feedbackPlaces.shard, shard));
  await deleteAll(db, feedbackPlaces, ofShard);
}

/** Newest first. */
export async function listPlaces(db: Database, workspaceId: string, wanted: FeedbackWanted): Promise<FeedbackPlace[]> {
  const { run, session, key, source, user, has_comment, has_score, level, min_created_at, max_created_at } = wanted;
  return db
    .select()
    .from(feedbackPlaces)
    .where(
      and(
        eq(feedbackPlaces.workspaceId, workspaceId),
        run && inList(feedbackPlaces.runId, run),
        session && inList(feedbackPlaces.projectId, session),
        key && inList(feedbackPlaces.key, key),
        source && inList(feedbackPlaces.source, source),
        user && inList(feedbackPlaces.userId, user),
        has_comment === undefined ? undefined : eq(feedbackPlaces.hasComment, has_comment),
        has_score === undefined ? undefined : eq(feedbackPlaces.hasScore, has_score),
        min_created_at === undefined ? undefined : gte(feedbackPlaces.createdAt, min_created_at),
        max_created_at === undefined ? undefined : lte(feedbackPlaces.createdAt, max_created_at),
        level === undefined
          ? undefined
          : level === "run"
            ? isNotNull(feedbackPlaces.runId)
            : isNull(feedbackPlaces.runId),
      ),
    )
    .orderBy(desc(feedbackPlaces.createdAt), desc(feedbackPlaces.id))
    .limit(wanted.limit)
    .offset(wanted.offset)
    .all();
}
