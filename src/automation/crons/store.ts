import type { Json } from "../../lib/json.ts";
import { and, asc, count, desc, eq, inArray, isNotNull, lt, type SQL, sql } from "drizzle-orm";
import { contains, bytesColumn, totalBytes } from "../../db/conditions.ts";
import { type Database, database } from "../../db/client.ts";
import { inTurns } from "../../lib/due-work.ts";
import { deleteOverdue, insertBelow } from "../../db/writes.ts";
import { cronFirings, crons, type FiringState } from "./table.ts";
import { limitResponse } from "../../lib/bytes.ts";
import { openJson, openListed, sealJson } from "../../access/encryption/ring.ts";
import { loadRing, withRing } from "../../access/encryption/keys.ts";

export type CronRow = typeof crons.$inferSelect;
export type FiringRow = Pick<typeof cronFirings.$inferSelect, "workspaceId" | "cronId" | "due">;
const SORTS = {
  cron_id: crons.id,
  assistant_id: crons.assistantId,
  thread_id: crons.threadId,
  next_run_date: crons.nextRunDate,
  end_time: crons.endTime,
  created_at: crons.createdAt,
  updated_at: crons.updatedAt,
};

export interface CronFilter {
  assistantId?: string;
  threadId?: string;
  enabled?: boolean;
  metadata?: Json;
}

export interface CronSearch extends CronFilter {
  limit: number;
  offset: number;
  sortBy: keyof typeof SORTS;
  sortOrder: "asc" | "desc";
}

export const MAX_CRONS = 1_000;

/** Inserts a cron. False when the workspace has as many as it may have. */
export async function insertCron(db: Database, row: CronRow): Promise<boolean> {
  return insertBelow(db, crons, row, eq(crons.workspaceId, row.workspaceId), MAX_CRONS);
}

export async function findCron(db: Database, workspaceId: string, id: string): Promise<CronRow | undefined> {
  return db.select().from(crons).where(isCron(workspaceId, id)).get();
}

/** Only the metadata of a cron: the payload takes up to 1 MiB. */
export async function findCronMetadata(db: Database, workspaceId: string, id: string): Promise<Json | undefined> {
  const row = await db.select({ metadata: crons.metadata }).from(crons).where(isCron(workspaceId, id)).get();
  return row?.metadata;
}

/** The cron after the change, which was made for the row as it was read. Undefined when the row has changed since, or is deleted. */
export async function updateCron(
  db: Database,
  { workspaceId, id, updatedAt, nextRunDate }: CronRow,
  change: Partial<CronRow> & Pick<CronRow, "updatedAt">,
): Promise<CronRow | undefined> {
  // A tick moves the due time, and leaves the time of the last change.
  const asRead = and(
    isCron(workspaceId, id),
    eq(crons.updatedAt, updatedAt),
    sql`${crons.nextRunDate} IS ${nextRunDate}`,
  );
  return db.update(crons).set(change).where(asRead).returning().get();
}

/** False when there was no such cron. */
export async function deleteCron(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const gone = await db.delete(crons).where(isCron(workspaceId, id)).returning({ id: crons.id });
  return gone.length > 0;
}

export async function listCronThreads(db: Database, workspaceId: string): Promise<string[]> {
  const where = and(eq(crons.workspaceId, workspaceId), isNotNull(crons.threadId));
  const rows = await db.selectDistinct({ id: crons.threadId }).from(crons).where(where).all();
  return rows.flatMap(({ id }) => id ?? []);
}

export async function deleteAllCrons(db: Database, workspaceId: string): Promise<void> {
  await db.delete(crons).where(eq(crons.workspaceId, workspaceId));
}

/** How many firings there are in each state. */
export async function countFirings(db: Database, workspaceId: string): Promise<Record<string, number>> {
  const rows = await db
    .select({ state: cronFirings.state, n: count() })
    .from(cronFirings)
    .where(eq(cronFirings.workspaceId, workspaceId))
    .groupBy(cronFirings.state)
    .all();
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}

/** Crons by filter. Reads one more than `limit`, for paging. */
export async function searchCrons(db: Database, workspaceId: string, search: CronSearch): Promise<CronRow[]> {
  const direction = search.sortOrder === "asc" ? asc : desc;
  const where = whereCrons(workspaceId, search);
  const order = [direction(SORTS[search.sortBy]), direction(sql`rowid`)];
  const limit = search.limit + 1;
  await limitResponse(limit, () => {
    const bytes = bytesColumn(crons.payload, crons.metadata);
    return totalBytes(
      db,
      db
        .select({ bytes })
        .from(crons)
        .where(where)
        .orderBy(...order)
        .limit(limit)
        .offset(search.offset),
    );
  });
  const page = db
    .select()
    .from(crons)
    .where(where)
    .orderBy(...order);
  return page.limit(limit).offset(search.offset).all();
}

export async function countCrons(db: Database, workspaceId: string, filter: CronFilter): Promise<number> {
  const row = await db.select({ n: count() }).from(crons).where(whereCrons(workspaceId, filter)).get();
  return row?.n ?? 0;
}

/** The columns that determine a cron's due times. The payload is left out: 500 payloads do not fit in memory. */
export type DueCron = Pick<CronRow, "id" | "schedule" | "timezone" | "endTime"> & { nextRunDate: number };

/** Crons of all workspaces whose next due time has come, in turns. */
export async function dueCrons(db: Database, now: number, limit: number): Promise<DueCron[]> {
  const due = sql`
    SELECT id, schedule, timezone, end_time AS endTime, next_run_date AS nextRunDate,
      workspace_id AS owner, next_run_date AS due, 0 AS served
    FROM ${crons} WHERE enabled = 1 AND next_run_date <= ${now}`;
  return db.all<DueCron>(sql`SELECT id, schedule, timezone, endTime, nextRunDate FROM (${inTurns(due, limit)})`);
}

/** Moves a cron's next due time. `due` lists the due times between `from` and `next`. */
export interface CronMove {
  id: string;
  from: number;
  due: number[];
  next: number | null;
}

/**
 * Records due times and moves their crons, in one transaction. A cron that another tick has moved is skipped.
 * It always takes two statements: D1 allows 1,000 queries per invocation and 100 bound parameters per query.
 */
export async function recordDue(db: Database, moves: CronMove[]): Promise<void> {
  if (moves.length === 0) return;
  const given = sql`json_each(${JSON.stringify(moves)}) m`;
  const next = sql`(SELECT m.value ->> 'next' FROM ${given} WHERE m.value ->> 'id' = ${crons.id})`;
  await db.batch([
    db
      .insert(cronFirings)
      .select(
        sql`SELECT c.workspace_id, c.id, d.value, 'due', 0, NULL FROM ${given}
          JOIN crons c ON c.id = m.value ->> 'id' AND c.next_run_date = m.value ->> 'from'
          JOIN json_each(m.value, '$.due') d WHERE 1`,
      )
      .onConflictDoNothing(),
    db
      .update(crons)
      .set({ nextRunDate: next })
      .where(sql`(${crons.id}, ${crons.nextRunDate}) IN (SELECT m.value ->> 'id', m.value ->> 'from' FROM ${given})`),
  ]);
}

/**
 * Firings in `state` about which no message was sent since `before`, in turns; marks them as sent now. With `longest`, the pause
 * between two messages grows to a tenth of the firing's age, at most to `longest` milliseconds.
 */
export async function takeFirings(
  db: Database,
  state: "due" | "started" | "followed",
  { before, now, limit, longest = 0 }: { before: number; now: number; limit: number; longest?: number },
): Promise<FiringRow[]> {
  const stale = sql`
    SELECT rowid AS n, workspace_id AS owner, touched_at AS due, 0 AS served FROM ${cronFirings}
    WHERE state = ${state} AND touched_at <= ${before}
      AND touched_at <= ${now} - min(${longest}, (${now} - cron_firings.due) / 10)`;
  return db
    .update(cronFirings)
    .set({ touchedAt: now })
    .where(sql`${cronFirings}.rowid IN (SELECT n FROM (${inTurns(stale, limit)}))`)
    .returning({ workspaceId: cronFirings.workspaceId, cronId: cronFirings.cronId, due: cronFirings.due });
}

/** The state of a firing and the thread of its cron; null when the cron has none or is deleted. */
export async function findFiring(
  db: Database,
  firing: FiringRow,
): Promise<{ state: FiringState; threadId: string | null } | undefined> {
  return db
    .select({ state: cronFirings.state, threadId: crons.threadId })
    .from(cronFirings)
    .leftJoin(crons, eq(crons.id, cronFirings.cronId))
    .where(isFiring(firing))
    .get();
}

/** Records how far a firing has come, unless another delivery of the message has brought it further. */
export async function setFiring(
  db: Database,
  firing: FiringRow,
  { from, to }: { from: FiringState; to: Exclude<FiringState, "due" | "refused"> },
  now: number,
): Promise<void> {
  const waiting = and(isFiring(firing), eq(cronFirings.state, from));
  await db.update(cronFirings).set({ state: to, touchedAt: now, error: null }).where(waiting);
}

/**
 * Records why the run was not started, unless another delivery of the message has started it. `state`: "due" when it is tried again.
 */
export async function noteFiringFailure(
  db: Database,
  firing: FiringRow,
  state: "due" | "refused",
  error: string,
  now: number,
): Promise<void> {
  const waiting = and(isFiring(firing), eq(cronFirings.state, "due"));
  await db
    .update(cronFirings)
    .set({ state, error: error.slice(0, MAX_ERROR), touchedAt: now })
    .where(waiting);
}

const MAX_ERROR = 1_000;

export type ListedFiring = Pick<typeof cronFirings.$inferSelect, "cronId" | "due" | "state" | "error"> & {
  threadId: string | null;
};

/** The latest firings of these crons, at most `limit` of each, newest first. `threadId`: the thread of the cron. */
export async function latestFirings(
  db: Database,
  workspaceId: string,
  cronIds: string[],
  limit: number,
): Promise<ListedFiring[]> {
  return db.all(sql`
    SELECT f.cron_id "cronId", f.due, f.state, f.error, c.thread_id "threadId" FROM crons c JOIN cron_firings f ON f.cron_id = c.id
    WHERE c.workspace_id = ${workspaceId} AND c.id IN (SELECT value FROM json_each(${JSON.stringify(cronIds)}))
      AND f.due IN (SELECT due FROM cron_firings WHERE cron_id = c.id ORDER BY due DESC LIMIT ${limit})
    ORDER BY f.due DESC`);
}

export async function deleteOldFirings(db: Database, before: number): Promise<void> {
  const over = and(inArray(cronFirings.state, ["ended", "failed", "refused"]), lt(cronFirings.touchedAt, before));
  await deleteOverdue(db, cronFirings, over);
}

function isCron(workspaceId: string, id: string): SQL | undefined {
  return and(eq(crons.workspaceId, workspaceId), eq(crons.id, id));
}

function isFiring({ cronId, due }: Pick<FiringRow, "cronId" | "due">): SQL | undefined {
  return and(eq(cronFirings.cronId, cronId), eq(cronFirings.due, due));
}

function whereCrons(
  workspaceId: string,
  { assistantId, threadId, enabled, metadata = {} }: CronFilter,
): SQL | undefined {
  return and(
    eq(crons.workspaceId, workspaceId),
    assistantId === undefined ? undefined : eq(crons.assistantId, assistantId),
    threadId === undefined ? undefined : eq(crons.threadId, threadId),
    enabled === undefined ? undefined : eq(crons.enabled, enabled),
    contains(crons.metadata, metadata),
  );
}

// The payload of a cron in a workspace that encrypts: what its runs are given.

const cronContext = ({ id }: Pick<CronRow, "id">) => ["cron", id];

/** The cron as it is to be stored. */
export async function sealCron<T extends Pick<CronRow, "id" | "workspaceId" | "payload">>(
  env: Env,
  cron: T,
): Promise<T> {
  const ring = await loadRing(env, cron.workspaceId);
  return { ...cron, payload: sealJson(ring, cron.payload, cronContext(cron)) };
}

/** The cron as it was before. */
export async function openCron(env: Env, row: CronRow): Promise<CronRow> {
  const payload = await withRing(env, row.workspaceId, (ring) => openJson(ring, row.payload, cronContext(row)));
  return { ...row, payload };
}

/** The crons of a list. One whose key is destroyed has no payload. */
export async function openCrons(env: Env, workspaceId: string, rows: CronRow[]): Promise<CronRow[]> {
  return withRing(env, workspaceId, (ring) =>
    rows.map((row) => ({ ...row, payload: openListed(ring, row.payload, cronContext(row)) ?? {} })),
  );
}

/** Deletes the crons on threads that have been deleted. */
export async function deleteCronsOn(env: Env, workspaceId: string, threadIds: string[]): Promise<void> {
  const gone = sql`${crons.threadId} IN (SELECT value FROM json_each(${JSON.stringify(threadIds)}))`;
  await database(env.DB)
    .delete(crons)
    .where(and(eq(crons.workspaceId, workspaceId), gone));
}

/** Deletes the crons of an assistant that has been deleted. */
export async function deleteCronsOfAssistant(env: Env, workspaceId: string, assistantId: string): Promise<void> {
  await database(env.DB)
    .delete(crons)
    .where(and(eq(crons.workspaceId, workspaceId), eq(crons.assistantId, assistantId)));
}
