/** The external state of a partition: its row in D1, and its deletion at the end of the retention. */
import { database } from "../../db/client.ts";
import type { TraceTier } from "../projects/table.ts";
import { blobPrefix, tracePartition } from "../stub.ts";
import type { PartitionIdentity } from "../types.ts";
import { deletePartitionFeedbackLocations } from "../review/feedback/store.ts";
import { projectNotFound } from "../projects/resolve.ts";
import { recentDeletions, findProject, type ProjectRow } from "../projects/store.ts";
import {
  announcePartition,
  deletePartition,
  savePartition,
  listPartitions,
  type PartitionRow,
} from "../projects/partitions.ts";
import { deleteSharesOfTraces, sharedTraces } from "../review/share/store.ts";
import { dayBounds } from "../time.ts";
import { readMeta, writeMeta } from "./store/meta.ts";
import { numbersOfTraces } from "./store/ids.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { crossingUnkept } from "./read/selection.ts";
import { DELETED_AT_ONCE, dropOthers, tracesBegunHere } from "./write/delete.ts";
import { clearOpenBlocks } from "./write/close.ts";

const DAY_MS = 86_400_000;
/** How long the runs of a partition are kept, days. A deployment may set TRACE_RETENTION_DAYS and …_SHORT. */
const RETENTION_DAYS: Record<TraceTier, number> = { longlived: 400, shortlived: 14 };

/** The project's settings for its runs; undefined for a deleted project. */
export type TraceRetention = Pick<ProjectRow, "traceTier" | "retentionDays" | "legalHold">;

/** How long until a partition on legal hold checks again, in milliseconds. */
const HOLD_MS = DAY_MS;

export async function readRetention(
  env: Env,
  { workspaceId, projectId }: PartitionIdentity,
): Promise<TraceRetention | undefined> {
  return findProject(database(env.DB), workspaceId, projectId);
}

/** When the partition is to be deleted, as its project has it now, milliseconds. While it is on hold, never before tomorrow. */
export function currentExpiry(env: Env, sql: SqlStorage, project: TraceRetention | undefined): number {
  const expiry = computeExpiry(env, sql, project) ?? Number.POSITIVE_INFINITY;
  return project?.legalHold ? Math.max(expiry, Date.now() + HOLD_MS) : expiry;
}

/** How long D1 may be behind, milliseconds. */
export const REGISTER_DELAY_MS = 2_000;

/**
 * How long before its first write a partition searches for deletions, milliseconds. A late write of an older one is
 * stored.
 */
const DELETIONS_MS = 7 * DAY_MS;

/**
 * Makes the partition's row in D1 before its first write, so that no write is acknowledged in a partition that exports and
 * queries do not know. Returns the traces of the project that were deleted before the partition existed.
 * @throws when the project was deleted (`projectGone`)
 */
export async function announce(env: Env, identity: PartitionIdentity): Promise<string[]> {
  const { workspaceId, projectId, day, shard } = identity;
  const db = database(env.DB);
  if (!(await announcePartition(db, { workspaceId, projectId, day, shard }))) throw projectNotFound();
  return recentDeletions(db, workspaceId, projectId, Date.now() - DELETIONS_MS);
}

/**
 * Writes the partition's row in D1 if it is not up to date. `isHeld` is false when the partition was destroyed
 * in the meantime.
 */
export async function register(env: Env, sql: SqlStorage, isHeld: () => boolean): Promise<void> {
  const identity = readMeta(sql, "identity");
  const counts = readMeta(sql, "counts");
  if (!identity || !counts || JSON.stringify(counts) === JSON.stringify(readMeta(sql, "registered"))) return;
  const { workspaceId, projectId, day, shard } = identity;
  const { rows, bytes, lastStart, changes } = counts;
  const lastRunStartTime = Math.floor(lastStart / 1000);
  const db = database(env.DB);
  await savePartition(db, { workspaceId, projectId, day, shard, rows, bytes, lastRunStartTime, changes });
  if (isHeld()) writeMeta(sql, "registered", counts);
  else await deletePartition(db, workspaceId, identity);
}

/**
 * When the partition is to be deleted, milliseconds. It counts from the day's end, or from the last write where that is
 * later: traces that are replayed or migrated keep their old times and must not vanish as they arrive.
 */
export function computeExpiry(env: Env, sql: SqlStorage, kept?: TraceRetention): number | undefined {
  const identity = readMeta(sql, "identity");
  if (!identity) return undefined;
  const tier = kept?.traceTier ?? identity.traceTier;
  const set =
    kept?.retentionDays ?? Number(tier === "longlived" ? env.TRACE_RETENTION_DAYS : env.TRACE_RETENTION_DAYS_SHORT);
  const days = set > 0 ? set : RETENTION_DAYS[tier];
  return Math.max(dayBounds(identity.day).end / 1000, readMeta(sql, "written") ?? 0) + days * DAY_MS;
}

/** Shared traces that are looked up at once: their ids are bound as one list. */
const SHARES_AT_ONCE = 10_000;

/** Deletes the links of the traces that end with the partition. `findEnding` gives those of a list. */
export async function deleteLinks(
  env: Env,
  { workspaceId, projectId }: Omit<PartitionIdentity, "traceTier">,
  findEnding: (traceIds: string[]) => string[],
): Promise<void> {
  const db = database(env.DB);
  for (let after = ""; ;) {
    const shared = await sharedTraces(db, { workspaceId, projectId }, after, SHARES_AT_ONCE);
    const ending = findEnding(shared);
    if (ending.length > 0) await deleteSharesOfTraces(db, workspaceId, projectId, ending);
    if (shared.length < SHARES_AT_ONCE) return;
    after = shared.at(-1) as string;
  }
}

/** Deletes the partition's objects in R2, then its rows in D1. */
export async function deleteOutside(env: Env, identity: Omit<PartitionIdentity, "traceTier">): Promise<void> {
  const { workspaceId } = identity;
  const prefix = blobPrefix(workspaceId, identity);
  for (;;) {
    const { objects } = await env.BLOBS.list({ prefix, limit: 1000 });
    if (objects.length === 0) break;
    await env.BLOBS.delete(objects.map(({ key }) => key));
  }
  const db = database(env.DB);
  await deletePartitionFeedbackLocations(db, workspaceId, identity);
  await deletePartition(db, workspaceId, identity);
}

export const LEAST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 3_600_000;

/**
 * The time of the next attempt of a failed alarm, milliseconds. The delay is the time since the work was due, from 10 seconds
 * to an hour, so it doubles with each attempt without stored state.
 */
export function nextAttempt(env: Env, sql: SqlStorage, now: number): number {
  const expiry = computeExpiry(env, sql) ?? now;
  const due = expiry <= now ? expiry : (readMeta(sql, "written") ?? now);
  return now + Math.min(LONGEST_WAIT_MS, Math.max(LEAST_WAIT_MS, now - due));
}

// The traces that are kept for longer than the others of their project, because a rule extends them (src/automation/rules/actions.ts).

export function keepTraces(sql: SqlStorage, traceIds: string[]): void {
  sql.exec("INSERT OR IGNORE INTO kept (trace_id) SELECT value FROM json_each(?)", JSON.stringify(traceIds));
}

/** Which of these traces are kept. */
export function findKept(sql: SqlStorage, traceIds: string[]): string[] {
  const rows = sql.exec<{ trace_id: string }>(
    "SELECT trace_id FROM kept WHERE trace_id IN (SELECT value FROM json_each(?))",
    JSON.stringify(traceIds),
  );
  return rows.toArray().map(({ trace_id }) => trace_id);
}

/** Whether a kept trace has a run here. */
export function holdsKept(sql: SqlStorage): boolean {
  const found = sql.exec(`SELECT 1 FROM kept k WHERE EXISTS ${numbersOfTraces("SELECT k.trace_id AS id")} LIMIT 1`);
  return found.toArray().length > 0;
}

/** Whether a run here is of another trace. */
export function holdsOthers(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM runs WHERE trace_id NOT IN (SELECT trace_id FROM kept) LIMIT 1").toArray().length > 0;
}

// The end of a day's retention, while traces of it are kept for longer.

/** The most steps of `DELETED_AT_ONCE` runs of one alarm. */
const STEPS_AT_ONCE = 5;

/** When the kept traces are to be deleted: as those of a `longlived` project. Milliseconds; 0 without a kept trace. */
export function readKeptUntil(env: Env, sql: SqlStorage): number {
  if (!holdsKept(sql)) return 0;
  return computeExpiry(env, sql, { traceTier: "longlived", retentionDays: null, legalHold: false }) ?? 0;
}

/**
 * Notes which of the traces that began on an earlier day are kept there. A rule tells the day of a trace's root, because runs
 * of later days can come at any time.
 */
export async function loadKept(env: Env, sql: SqlStorage, identity: PartitionIdentity): Promise<void> {
  const { workspaceId, projectId } = identity;
  for (let traces = crossingUnkept(sql, ""); traces.length > 0; traces = crossingUnkept(sql, traces.at(-1)?.id ?? "")) {
    const begun = Map.groupBy(traces, (trace) => trace.day);
    const days = [...begun.keys()].toSorted();
    // One call of D1 for all of them: the days are those that clients have sent.
    const places = await listPartitions(database(env.DB), workspaceId, projectId, days[0] ?? "", days.at(-1) ?? "");
    const ask = async (place: PartitionRow) =>
      tracePartition(env, workspaceId, place).keptAmong((begun.get(place.day) ?? []).map(({ id }) => id));
    const among = places.filter(({ day }) => begun.has(day));
    keepTraces(sql, (await inParallel(among, CONNECTIONS, ask)).flat());
  }
}

/**
 * Deletes the traces that are not kept, with their links, as long as `isOver` says that their time is over: a write begins it
 * again. True when none is left.
 */
export async function dropExpired(
  env: Env,
  storage: DurableObjectStorage,
  identity: PartitionIdentity,
  isOver: () => boolean,
): Promise<boolean> {
  const { sql } = storage;
  if (holdsOthers(sql)) {
    await deleteLinks(env, identity, (shared) => {
      if (!isOver()) return [];
      const begun = tracesBegunHere(sql, shared);
      const kept = new Set(findKept(sql, begun));
      return begun.filter((id) => !kept.has(id));
    });
  }
  const prefix = blobPrefix(identity.workspaceId, identity);
  for (let step = 0; step < STEPS_AT_ONCE && isOver(); step++) {
    const gone = storage.transactionSync(() => {
      const runs = dropOthers(sql, prefix);
      if (runs < DELETED_AT_ONCE) clearOpenBlocks(sql);
      return runs;
    });
    // What one transaction wrote must have left before the next one, or memory fills with it.
    await storage.sync();
    if (gone < DELETED_AT_ONCE) return true;
  }
  return !isOver();
}
