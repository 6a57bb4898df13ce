/** D1: who works on an export run. A claim raises the epoch; every write of the owner names it and fails when it is old. */
import { and, eq, inArray, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import {
  type ExportCursor,
  type ExportedFile,
  type PendingUpload,
  type PerShard,
  bulkExports,
  exportRuns,
} from "../table.ts";
import { statusesBefore, OPEN, type ExportRunRow } from "../store.ts";

/** The right to write: the run, and the epoch under which it was claimed. */
export type ExportLease = Pick<ExportRunRow, "id" | "epoch">;

const exportIs = (status: "RUNNING") =>
  sql`EXISTS (SELECT 1 FROM ${bulkExports} WHERE ${bulkExports.id} = ${exportRuns.exportId} AND ${bulkExports.status} = ${status})`;

const holdsLease = ({ id, epoch }: ExportLease) =>
  and(eq(exportRuns.id, id), eq(exportRuns.epoch, epoch), eq(exportRuns.status, "RUNNING"));

const hasNoLease = (now: number) => or(isNull(exportRuns.leaseUntil), lte(exportRuns.leaseUntil, now));

/** The error of an attempt whose worker ended without reporting one. */
export const INTERRUPTED = "Interrupted: the worker ended before the work was done";

/**
 * Claims an open run of a running export that has no live owner. Returns undefined when there is none. An expired lease
 * means that the previous owner stopped. This counts as a failed attempt, so that a run cannot crash its worker without
 * limit.
 */
export async function leaseRun(db: Database, id: string, now: number, until: number) {
  return takeLease(db, eq(exportRuns.id, id), now, until);
}

/** Claims the next run of an export that has no owner. */
export async function leaseNextRun(db: Database, exportId: string, now: number, until: number) {
  const next = sql`(SELECT r.id FROM export_runs r
    WHERE r.export_id = ${exportId} AND r.status = 'CREATED' AND r.lease_until IS NULL AND r.next_attempt_at <= ${now}
    ORDER BY r.day, r.project_id LIMIT 1)`;
  return takeLease(db, eq(exportRuns.id, next), now, until);
}

async function takeLease(db: Database, wanted: SQL, now: number, until: number) {
  const { leaseUntil, errors, retryNumber, failedAttempts, epoch } = exportRuns;
  return db
    .update(exportRuns)
    .set({
      status: "RUNNING",
      leaseUntil: until,
      epoch: sql`${epoch} + 1`,
      updatedAt: now,
      sentAt: sql`coalesce(${exportRuns.sentAt}, ${now})`,
      errors: sql`CASE WHEN ${leaseUntil} IS NULL THEN ${errors} ELSE ${withError(INTERRUPTED)} END`,
      retryNumber: sql`${retryNumber} + (${leaseUntil} IS NOT NULL)`,
      failedAttempts: sql`${failedAttempts} + (${leaseUntil} IS NOT NULL)`,
    })
    .where(
      and(
        wanted,
        inArray(exportRuns.status, OPEN),
        hasNoLease(now),
        lte(exportRuns.nextAttemptAt, now),
        exportIs("RUNNING"),
      ),
    )
    .returning()
    .get();
}

/** Takes a run that has ended with an upload still open, to clear it away. */
export async function leaseRemains(db: Database, id: string, now: number, until: number) {
  return db
    .update(exportRuns)
    .set({ leaseUntil: until, epoch: sql`${exportRuns.epoch} + 1` })
    .where(
      and(
        eq(exportRuns.id, id),
        sql`${exportRuns.status} NOT IN ${OPEN}`,
        sql`${exportRuns.pending} IS NOT NULL`,
        hasNoLease(now),
      ),
    )
    .returning()
    .get();
}

export async function forgetRemains(db: Database, { id, epoch }: ExportLease): Promise<void> {
  await db
    .update(exportRuns)
    .set({ pending: null, leaseUntil: null })
    .where(and(eq(exportRuns.id, id), eq(exportRuns.epoch, epoch)));
}

/** Keeps the lease, and notes what is being uploaded. False when the run was taken, cancelled or timed out. */
export async function renewLease(
  db: Database,
  lease: ExportLease,
  until: number,
  pending?: PendingUpload | null,
): Promise<boolean> {
  const kept = await db
    .update(exportRuns)
    .set({ leaseUntil: until, ...(pending === undefined ? {} : { pending }) })
    .where(holdsLease(lease))
    .returning({ id: exportRuns.id });
  return kept.length > 0;
}

export interface SliceCommit {
  /** Where the next slice begins. */
  shard: number;
  cursor: ExportCursor | null;
  seen: PerShard | null;
  /** Null when the slice held no run. */
  file: ExportedFile | null;
  /** COMPLETED when nothing is left in the run's window. */
  status: "RUNNING" | "COMPLETED";
  now: number;
  until: number;
}

/**
 * The commit point of a slice: cursor, file, counts and status in one statement. It is progress, so failed attempts count anew.
 * False when the lease is lost.
 */
export async function commitSlice(db: Database, lease: ExportLease, commit: SliceCommit) {
  const { shard, cursor, seen, file, status, now, until } = commit;
  const kept = await db
    .update(exportRuns)
    .set({
      shard,
      cursor,
      seen,
      ...(file && {
        files: sql`json_insert(${exportRuns.files}, '$[#]', json(${JSON.stringify(file)}))`,
        rows: sql`${exportRuns.rows} + ${file.rows}`,
        bytes: sql`${exportRuns.bytes} + ${file.bytes}`,
      }),
      ...(status === "COMPLETED" ? { status, finishedAt: now, leaseUntil: null } : { leaseUntil: until }),
      pending: null,
      failedAttempts: 0,
      updatedAt: now,
    })
    .where(and(holdsLease(lease), inArray(exportRuns.status, statusesBefore("COMPLETED"))))
    .returning({ id: exportRuns.id });
  return kept.length > 0;
}

/** Lets the run go for its next message. */
export async function releaseLease(db: Database, lease: ExportLease, now: number): Promise<void> {
  await db.update(exportRuns).set({ leaseUntil: null, sentAt: now }).where(holdsLease(lease));
}

/** Notes a failed attempt; the next may begin at `nextAttemptAt`. */
export async function noteRetry(
  db: Database,
  lease: ExportLease,
  { reason, now, nextAttemptAt }: { reason: string; now: number; nextAttemptAt: number },
): Promise<void> {
  await db
    .update(exportRuns)
    .set({
      errors: withError(reason),
      retryNumber: sql`${exportRuns.retryNumber} + 1`,
      failedAttempts: sql`${exportRuns.failedAttempts} + 1`,
      leaseUntil: null,
      sentAt: nextAttemptAt,
      nextAttemptAt,
      updatedAt: now,
    })
    .where(holdsLease(lease));
}

/** Ends a run, and with it its export and the export's other open runs. */
export async function failRun(db: Database, run: ExportRunRow, reason: string, now: number): Promise<void> {
  const ended = { updatedAt: now, finishedAt: now } as const;
  const mine = db
    .select({ one: sql`1` })
    .from(exportRuns)
    .where(and(eq(exportRuns.id, run.id), eq(exportRuns.epoch, run.epoch), eq(exportRuns.status, "FAILED")));
  await db.batch([
    db
      .update(exportRuns)
      .set({ ...ended, status: "FAILED", errors: withError(reason), leaseUntil: null })
      .where(holdsLease(run)),
    db
      .update(bulkExports)
      .set({ ...ended, status: "FAILED", error: reason })
      .where(
        and(
          eq(bulkExports.id, run.exportId),
          inArray(bulkExports.status, statusesBefore("FAILED")),
          sql`EXISTS ${mine}`,
        ),
      ),
    endOpenRuns(db, run.exportId, "FAILED", "CANCELLED", now),
  ]);
}

/** The errors that a run keeps, the newest: an export that makes progress may fail any number of times. */
const MAX_ERRORS = 100;

function withError(reason: string) {
  const { errors, retryNumber } = exportRuns;
  const kept = sql`json_remove(coalesce(${errors}, '{}'), '$.retry_' || (${retryNumber} - ${MAX_ERRORS}))`;
  return sql`json_set(${kept}, '$.retry_' || ${retryNumber}, ${reason})`;
}

/** Gives the open runs of an export that has ended as `ended` the status `status`. */
export function endOpenRuns(
  db: Database,
  exportId: string,
  ended: "FAILED" | "TIMEDOUT",
  status: "CANCELLED" | "TIMEDOUT",
  now: number,
) {
  return db
    .update(exportRuns)
    .set({ status, updatedAt: now, finishedAt: now })
    .where(
      and(
        eq(exportRuns.exportId, exportId),
        inArray(exportRuns.status, statusesBefore(status)),
        sql`EXISTS (SELECT 1 FROM ${bulkExports} WHERE ${bulkExports.id} = ${exportId} AND ${bulkExports.status} = ${ended})`,
      ),
    );
}
