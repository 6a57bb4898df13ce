/** D1: the links for feedback without a key, and what feedback of a key may be. */
import { and, asc, eq, gt, lte, sql, desc, gte, isNotNull, isNull } from "drizzle-orm";
import { inList } from "../../../db/conditions.ts";
import type { Database } from "../../../db/client.ts";
import { deleteOverdue, CHANGED, nextTime, untilUnchanged, deleteAll } from "../../../db/writes.ts";
import { feedbackConfigs, feedbackTokens, feedbackPlaces } from "./table.ts";
import type { PartitionLocation } from "../../types.ts";

export type TokenRow = typeof feedbackTokens.$inferSelect;
export type ConfigRow = typeof feedbackConfigs.$inferSelect;

interface Page {
  limit: number;
  offset: number;
}

export async function saveTokens(db: Database, rows: TokenRow[]): Promise<void> {
  const [first, ...others] = rows.map((row) => db.insert(feedbackTokens).values(row));
  if (first) await db.batch([first, ...others]);
}

/** The token with this hash, unless its time is over. */
export async function findToken(db: Database, hash: string, now: number): Promise<TokenRow | undefined> {
  return db
    .select()
    .from(feedbackTokens)
    .where(and(eq(feedbackTokens.hash, hash), gt(feedbackTokens.expiresAt, now)))
    .get();
}

/** The run's tokens that are still good, the first to expire first. */
export async function tokensOfRun(
  db: Database,
  workspaceId: string,
  runId: string,
  { now, limit, offset }: Page & { now: number },
): Promise<TokenRow[]> {
  return db
    .select()
    .from(feedbackTokens)
    .where(
      and(
        eq(feedbackTokens.workspaceId, workspaceId),
        eq(feedbackTokens.runId, runId),
        gt(feedbackTokens.expiresAt, now),
      ),
    )
    .orderBy(asc(feedbackTokens.expiresAt), asc(feedbackTokens.hash))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function deleteExpiredTokens(db: Database, now: number): Promise<void> {
  await deleteOverdue(db, feedbackTokens, lte(feedbackTokens.expiresAt, now));
}

/** Runs for which a workspace has tokens, 10,000 at most. */
export async function runsWithTokens(db: Database, workspaceId: string): Promise<string[]> {
  const rows = await db
    .selectDistinct({ id: feedbackTokens.runId })
    .from(feedbackTokens)
    .where(eq(feedbackTokens.workspaceId, workspaceId))
    .limit(10_000)
    .all();
  return rows.map(({ id }) => id);
}

/** Deletes the tokens for these runs. */
export async function deleteTokensOf(db: Database, workspaceId: string, runIds: string[]): Promise<void> {
  if (runIds.length === 0) return;
  await deleteAll(
    db,
    feedbackTokens,
    and(eq(feedbackTokens.workspaceId, workspaceId), inList(feedbackTokens.runId, runIds)),
  );
}

const isConfig = (workspaceId: string, key: string) =>
  and(eq(feedbackConfigs.workspaceId, workspaceId), eq(feedbackConfigs.key, key));

/** Writes a config where there is none; gives what is there now. */
export async function addConfig(db: Database, row: ConfigRow): Promise<ConfigRow> {
  const [, [held]] = await db.batch([
    db.insert(feedbackConfigs).values(row).onConflictDoNothing(),
    db.select().from(feedbackConfigs).where(isConfig(row.workspaceId, row.key)),
  ]);
  return held ?? row;
}

export async function findConfig(db: Database, workspaceId: string, key: string): Promise<ConfigRow | undefined> {
  return db.select().from(feedbackConfigs).where(isConfig(workspaceId, key)).get();
}

/** Changes the stored config. Undefined if there is none for this key. */
export async function changeConfig(
  db: Database,
  workspaceId: string,
  key: string,
  change: (row: ConfigRow) => Partial<Pick<ConfigRow, "config" | "isLowerScoreBetter">>,
): Promise<ConfigRow | undefined> {
  return untilUnchanged(async () => {
    const row = await findConfig(db, workspaceId, key);
    if (!row) return undefined;
    const set = { ...change(row), modifiedAt: nextTime(row.modifiedAt) };
    const isSame = and(isConfig(workspaceId, key), eq(feedbackConfigs.modifiedAt, row.modifiedAt));
    return (await db.update(feedbackConfigs).set(set).where(isSame).returning().get()) ?? CHANGED;
  });
}

/** Whether there was one. */
export async function deleteConfig(db: Database, workspaceId: string, key: string): Promise<boolean> {
  return (await db.delete(feedbackConfigs).where(isConfig(workspaceId, key)).returning()).length > 0;
}

/** By key. `nameContains` is searched in the key. Its case is ignored. */
export async function listConfigs(
  db: Database,
  workspaceId: string,
  { keys, nameContains, limit, offset }: Page & { keys?: string[]; nameContains?: string },
): Promise<ConfigRow[]> {
  return db
    .select()
    .from(feedbackConfigs)
    .where(
      and(
        eq(feedbackConfigs.workspaceId, workspaceId),
        keys && inList(feedbackConfigs.key, keys),
        nameContains === undefined
          ? undefined
          : sql`instr(lower(${feedbackConfigs.key}), ${nameContains.toLowerCase()}) > 0`,
      ),
    )
    .orderBy(asc(feedbackConfigs.key))
    .limit(limit)
    .offset(offset)
    .all();
}

// D1: the location of each feedback.

export type FeedbackLocation = typeof feedbackPlaces.$inferSelect;

export interface FeedbackQuery {
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
export async function saveFeedbackLocation(db: Database, row: FeedbackLocation): Promise<void> {
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
export async function moveFeedbackLocation(db: Database, row: FeedbackLocation): Promise<void> {
  const target = [feedbackPlaces.workspaceId, feedbackPlaces.id];
  await db
    .insert(feedbackPlaces)
    .values(row)
    .onConflictDoUpdate({ target, set: { shard: row.shard } });
}

export async function findFeedbackLocation(
  db: Database,
  workspaceId: string,
  id: string,
): Promise<FeedbackLocation | undefined> {
  return db
    .select()
    .from(feedbackPlaces)
    .where(and(eq(feedbackPlaces.workspaceId, workspaceId), eq(feedbackPlaces.id, id)))
    .get();
}

/** A run can have more feedback than fits in one parameter of a statement, which is at most 2 MB. */
const AT_ONCE = 10_000;

/** Deletes the locations of these feedbacks. */
export async function deleteFeedbackLocationsById(db: Database, workspaceId: string, ids: string[]): Promise<void> {
  const { workspaceId: workspace, id } = feedbackPlaces;
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = inList(id, ids.slice(at, at + AT_ONCE));
    await deleteAll(db, feedbackPlaces, and(eq(workspace, workspaceId), some));
  }
}

export async function deleteFeedbackLocation(db: Database, workspaceId: string, id: string): Promise<void> {
  await db.delete(feedbackPlaces).where(and(eq(feedbackPlaces.workspaceId, workspaceId), eq(feedbackPlaces.id, id)));
}

export async function deletePartitionFeedbackLocations(
  db: Database,
  workspaceId: string,
  { projectId, day, shard }: PartitionLocation,
): Promise<void> {
  const ofProject = and(eq(feedbackPlaces.workspaceId, workspaceId), eq(feedbackPlaces.projectId, projectId));
  const ofShard = and(ofProject, eq(feedbackPlaces.day, day), eq(feedbackPlaces.shard, shard));
  await deleteAll(db, feedbackPlaces, ofShard);
}

/** Newest first. */
export async function listFeedbackLocations(
  db: Database,
  workspaceId: string,
  wanted: FeedbackQuery,
): Promise<FeedbackLocation[]> {
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
