/** D1: rules, and how far they have come. */
import { and, asc, desc, eq, gt, gte, lt, lte, sql, inArray } from "drizzle-orm";
import { type Database, database } from "../../db/client.ts";
import { deleteOverdue, insertBelow, deleteAll, rowIf } from "../../db/writes.ts";
import { inList } from "../../db/conditions.ts";
import { inTurns } from "../../lib/due-work.ts";
import { ruleBackfillParts, ruleBackfills, ruleFailures, ruleParts, runRules } from "./table.ts";
import { tracePartitions } from "../../traces/projects/table.ts";
import type { RuleCounts } from "../../traces/rpc.ts";
import { alerts } from "../alerts/table.ts";
import { deleteEvents } from "../../deliveries/events.ts";

export type RuleRow = typeof runRules.$inferSelect;
export type BackfillRow = typeof ruleBackfills.$inferSelect;
export type FailureRow = typeof ruleFailures.$inferSelect;

/** A part of a rule's work: a partition of its project, also as the message of the queue that wakes it. */
export interface RulePart {
  ruleId: string;
  day: string;
  shard: number;
  /** The backfill that reads the partition. Left out: the rule reads what has changed. */
  backfillId?: string;
}

export const MAX_RULES = 100;

const isRule = (workspaceId: string, id: string) => and(eq(runRules.workspaceId, workspaceId), eq(runRules.id, id));

/** False when the workspace has `MAX_RULES` rules. */
export async function insertRule(db: Database, row: RuleRow): Promise<boolean> {
  return insertBelow(db, runRules, row, eq(runRules.workspaceId, row.workspaceId), MAX_RULES);
}

export async function findRule(db: Database, workspaceId: string, id: string): Promise<RuleRow | undefined> {
  return db.select().from(runRules).where(isRule(workspaceId, id)).get();
}

/** The run of a failure that is of the rule itself. */
export const ALL_RUNS = "";

/** A rule, and whether it has a failure of its own. */
export type RuleToWork = RuleRow & { isFailing: boolean };

/** A rule of any workspace that is not paused. For the queue, whose messages name rules by their ids alone. */
export async function ruleToWork(db: Database, id: string): Promise<RuleToWork | undefined> {
  const failure = and(eq(ruleFailures.ruleId, runRules.id), eq(ruleFailures.runId, ALL_RUNS));
  const found = await db
    .select({ rule: runRules, failure: ruleFailures.runId })
    .from(runRules)
    .leftJoin(ruleFailures, failure)
    .where(and(eq(runRules.id, id), eq(runRules.isEnabled, true)))
    .get();
  return found && { ...found.rule, isFailing: found.failure !== null };
}

export interface RuleQuery {
  id?: string[] | undefined;
  session_id?: string | undefined;
  name_contains?: string | undefined;
  limit: number;
  offset: number;
}

/** Oldest first. */
export async function listRules(db: Database, workspaceId: string, wanted: RuleQuery): Promise<RuleRow[]> {
  const { id: ids, session_id, name_contains, limit, offset } = wanted;
  return db
    .select()
    .from(runRules)
    .where(
      and(
        eq(runRules.workspaceId, workspaceId),
        ids === undefined ? undefined : inList(runRules.id, ids),
        session_id === undefined ? undefined : eq(runRules.projectId, session_id),
        name_contains === undefined ? undefined : sql`instr(lower(${runRules.name}), lower(${name_contains})) > 0`,
      ),
    )
    .orderBy(asc(runRules.createdAt), asc(runRules.id))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function updateRule(db: Database, row: RuleRow): Promise<RuleRow | undefined> {
  return db.update(runRules).set(row).where(isRule(row.workspaceId, row.id)).returning().get();
}

/** Notes what the partition counted. `change`: left out by a backfill. */
export async function savePart(
  db: Database,
  { ruleId, day, shard }: RulePart,
  { change, ...counts }: RuleCounts & { change: number },
): Promise<void> {
  const row = { ruleId, day, shard, ...counts, change, touchedAt: Date.now() };
  await db
    .insert(ruleParts)
    .values(row)
    .onConflictDoUpdate({
      target: [ruleParts.ruleId, ruleParts.day, ruleParts.shard],
      // Two workers may count at the same time.
      set: {
        ...row,
        change: sql`max(${ruleParts.change}, excluded.change)`,
        taken: greater("taken"),
        done: greater("done"),
        failed: greater("failed"),
        cost: greater("cost"),
      },
    });
}

const greater = (name: "taken" | "done" | "failed" | "cost") =>
  sql`max(${ruleParts[name]}, ${sql.raw(`excluded.${name}`)})`;

/**
 * The partitions with runs that rules have not seen, or not finished, and on which no worker has worked since `before`, in turns. They
 * are noted as touched. Both halves read an index, so that partitions without work cost no row. `changedAfter`: changes before are left
 * to another call; their numbers are at least their times in milliseconds.
 */
export async function takeParts(db: Database, before: number, limit: number, changedAfter = 0): Promise<RulePart[]> {
  const due = sql`
    SELECT DISTINCT ruleId, day, shard, owner, due, 0 AS served FROM (
    SELECT r.id AS ruleId, p.day, p.shard, r.workspace_id AS owner, ifnull(s.touched_at, 0) AS due FROM ${runRules} r
    CROSS JOIN ${tracePartitions} p ON p.workspace_id = r.workspace_id AND p.project_id = r.project_id
    LEFT JOIN ${ruleParts} s ON s.rule_id = r.id AND s.day = p.day AND s.shard = p.shard
    WHERE r.is_enabled = 1 AND p.changes > max(r.since, ${changedAfter}) AND p.changes > ifnull(s.change, 0)
      AND ifnull(s.touched_at, 0) <= ${before}
    UNION ALL SELECT r.id, s.day, s.shard, r.workspace_id, s.touched_at FROM ${ruleParts} s
    CROSS JOIN ${runRules} r ON r.id = s.rule_id AND r.is_enabled = 1
    CROSS JOIN ${tracePartitions} p
      ON p.workspace_id = r.workspace_id AND p.project_id = r.project_id AND p.day = s.day AND p.shard = s.shard
    WHERE s.taken > s.done + s.failed AND s.touched_at <= ${before})`;
  const parts = await db.all<RulePart>(sql`SELECT ruleId, day, shard FROM (${inTurns(due, limit)})`);
  await touchParts(db, parts);
  return parts;
}

/** In one statement, however many they are: D1 allows 1,000 calls an invocation. One that was never worked on gets its row. */
async function touchParts(db: Database, parts: RulePart[]): Promise<void> {
  await db.run(sql`
    INSERT INTO ${ruleParts} (rule_id, day, shard, change, taken, done, failed, cost, touched_at)
    SELECT r.id, value ->> 'day', value ->> 'shard', 0, 0, 0, 0, 0, ${Date.now()}
    FROM json_each(${JSON.stringify(parts)}) JOIN ${runRules} r ON r.id = value ->> 'ruleId' WHERE true
    ON CONFLICT DO UPDATE SET touched_at = excluded.touched_at`);
}

/** Inserts the backfill with the partitions that it is to read. */
export async function insertBackfill(db: Database, row: BackfillRow, parts: { day: string; shard: number }[]) {
  await db.batch([
    db.insert(ruleBackfills).values(row),
    ...parts.map((part) => db.insert(ruleBackfillParts).values({ backfillId: row.id, ...part })),
  ]);
}

export async function findBackfill(db: Database, id: string): Promise<BackfillRow | undefined> {
  return db.select().from(ruleBackfills).where(eq(ruleBackfills.id, id)).get();
}

/** Newest first, with the number of partitions that are left. */
export async function listBackfills(
  db: Database,
  ruleId: string,
  limit: number,
): Promise<(BackfillRow & { left: number })[]> {
  const left = sql<number>`(SELECT count(*) FROM ${ruleBackfillParts} p WHERE p.backfill_id = ${ruleBackfills.id})`;
  const rows = await db
    .select({ row: ruleBackfills, left })
    .from(ruleBackfills)
    .where(eq(ruleBackfills.ruleId, ruleId))
    .orderBy(desc(ruleBackfills.createdAt))
    .limit(limit)
    .all();
  return rows.map(({ row, left }) => ({ ...row, left }));
}

/** The parts of backfills on which no worker has worked since `before`, in turns. Their backfills are noted as touched. */
export async function takeBackfillParts(db: Database, before: number, limit: number): Promise<RulePart[]> {
  const due = sql`
    SELECT b.rule_id AS ruleId, p.day AS day, p.shard AS shard, b.id AS backfillId, r.workspace_id AS owner,
      b.touched_at AS due, 0 AS served FROM ${ruleBackfills} b
    JOIN ${ruleBackfillParts} p ON p.backfill_id = b.id JOIN ${runRules} r ON r.id = b.rule_id
    WHERE b.completed_at IS NULL AND r.is_enabled = 1 AND b.touched_at <= ${before}`;
  const parts = await db.all<Required<RulePart>>(
    sql`SELECT ruleId, day, shard, backfillId FROM (${inTurns(due, limit)})`,
  );
  await touchBackfills(
    db,
    parts.map(({ backfillId }) => backfillId),
  );
  return parts;
}

export async function touchBackfills(db: Database, ids: string[]): Promise<void> {
  await db.update(ruleBackfills).set({ touchedAt: Date.now() }).where(inList(ruleBackfills.id, ids));
}

/** Notes that the backfill has read a partition; the last one completes it. */
export async function completePart(db: Database, { day, shard, backfillId = "" }: RulePart): Promise<void> {
  const part = and(
    eq(ruleBackfillParts.backfillId, backfillId),
    eq(ruleBackfillParts.day, day),
    eq(ruleBackfillParts.shard, shard),
  );
  await db.batch([
    db.delete(ruleBackfillParts).where(part),
    db
      .update(ruleBackfills)
      .set({ completedAt: Date.now() })
      .where(
        and(
          eq(ruleBackfills.id, backfillId),
          sql`NOT EXISTS (SELECT 1 FROM ${ruleBackfillParts} p WHERE p.backfill_id = ${backfillId})`,
        ),
      ),
  ]);
}

/** Writes the last failure of a rule on a run, unless the rule or the trace has been deleted in the meantime. */
export async function saveFailure(db: Database, row: FailureRow): Promise<void> {
  const { ruleId, traceId, action, error, at, isFinal } = row;
  const isThere = sql`EXISTS (SELECT 1 FROM run_rules r WHERE r.id = ${ruleId} AND NOT EXISTS (SELECT 1 FROM trace_deletions d
    WHERE d.workspace_id = r.workspace_id AND d.project_id = r.project_id AND d.trace_id = ${traceId}))`;
  await db
    .insert(ruleFailures)
    .select(rowIf(ruleFailures, row, isThere))
    .onConflictDoUpdate({ target: [ruleFailures.ruleId, ruleFailures.runId], set: { action, error, at, isFinal } });
}

/** Deletes the failures on runs of traces that are deleted. */
export async function deleteFailuresOnTraces(
  env: Env,
  workspaceId: string,
  projectId: string,
  traceIds: string[],
): Promise<void> {
  const db = database(env.DB);
  const rules = db
    .select({ id: runRules.id })
    .from(runRules)
    .where(and(eq(runRules.workspaceId, workspaceId), eq(runRules.projectId, projectId)));
  const onTraces = and(inArray(ruleFailures.ruleId, rules), inList(ruleFailures.traceId, traceIds));
  await deleteAll(db, ruleFailures, onTraces);
}

/** The run of an earlier failure is done. */
export async function forgetFailure(db: Database, ruleId: string, runId: string): Promise<void> {
  await db.delete(ruleFailures).where(and(eq(ruleFailures.ruleId, ruleId), eq(ruleFailures.runId, runId)));
}

export interface FailureQuery {
  isFinal?: boolean | undefined;
  start_time?: number | undefined;
  end_time?: number | undefined;
  limit: number;
  offset: number;
}

/** Newest first. */
export async function listFailures(db: Database, ruleId: string, wanted: FailureQuery): Promise<FailureRow[]> {
  const { isFinal, start_time, end_time, limit, offset } = wanted;
  return db
    .select()
    .from(ruleFailures)
    .where(
      and(
        eq(ruleFailures.ruleId, ruleId),
        isFinal === undefined ? undefined : eq(ruleFailures.isFinal, isFinal),
        start_time === undefined ? undefined : gte(ruleFailures.at, start_time),
        end_time === undefined ? undefined : lte(ruleFailures.at, end_time),
      ),
    )
    .orderBy(desc(ruleFailures.at), asc(ruleFailures.runId))
    .limit(limit)
    .offset(offset)
    .all();
}

/** The failures of these runs. */
export async function failuresOn(db: Database, ruleId: string, runIds: string[]): Promise<FailureRow[]> {
  return db
    .select()
    .from(ruleFailures)
    .where(and(eq(ruleFailures.ruleId, ruleId), inList(ruleFailures.runId, runIds)))
    .all();
}

/** The newest parts of a rule with runs that wait, or that are done. */
export async function listParts(
  db: Database,
  ruleId: string,
  state: "due" | "done",
  limit: number,
): Promise<{ day: string; shard: number }[]> {
  const { day, shard, taken, done, failed } = ruleParts;
  const has = state === "done" ? gt(done, 0) : gt(taken, sql`${done} + ${failed}`);
  return db
    .select({ day, shard })
    .from(ruleParts)
    .where(and(eq(ruleParts.ruleId, ruleId), has))
    .orderBy(desc(day), asc(shard))
    .limit(limit)
    .all();
}

export async function deleteOldFailures(db: Database, before: number): Promise<void> {
  await deleteOverdue(db, ruleFailures, lt(ruleFailures.at, before));
}

/** Deletes a rule with what is known of its work. */
export async function deleteRule(db: Database, workspaceId: string, id: string): Promise<void> {
  const ofRule = db.select({ id: ruleBackfills.id }).from(ruleBackfills).where(eq(ruleBackfills.ruleId, id));
  await deleteAll(db, ruleBackfillParts, inArray(ruleBackfillParts.backfillId, ofRule));
  await deleteAll(db, ruleParts, eq(ruleParts.ruleId, id));
  await deleteAll(db, ruleFailures, eq(ruleFailures.ruleId, id));
  await deleteAll(db, ruleBackfills, eq(ruleBackfills.ruleId, id));
  await db.delete(runRules).where(and(eq(runRules.workspaceId, workspaceId), eq(runRules.id, id)));
}

/** Deletes the rules and the alerts of a project that is deleted. */
export async function deleteRulesOfProject(env: Env, workspaceId: string, projectId: string): Promise<void> {
  const db = database(env.DB);
  const rules = await db
    .select({ id: runRules.id })
    .from(runRules)
    .where(and(eq(runRules.workspaceId, workspaceId), eq(runRules.projectId, projectId)))
    .all();
  for (const { id } of rules) await deleteRule(db, workspaceId, id);
  const ofProject = and(eq(alerts.workspaceId, workspaceId), eq(alerts.projectId, projectId));
  await deleteEvents(db, sql`(SELECT ${alerts.id} FROM ${alerts} WHERE ${ofProject})`);
  await deleteAll(db, alerts, ofProject);
}
