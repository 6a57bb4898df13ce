/** D1: the links for feedback without a key, and what feedback of a key may be. */
import { and, asc, eq, gt, lte, sql } from "drizzle-orm";
import { inList } from "../../../db/conditions.ts";
import type { Database } from "../../../db/client.ts";
import { deleteOverdue } from "../../../db/writes.ts";
import { feedbackConfigs, feedbackTokens } from "../../projects/table.ts";
import { CHANGED, nextTime, untilUnchanged } from "../../../db/writes.ts";

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
