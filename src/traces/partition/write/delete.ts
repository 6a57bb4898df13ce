/** Deleting traces: their runs, feedback and objects in R2. Later writes to them are rejected. */
import { lookupIds } from "../../shards.ts";
import type { RunWrite } from "../../types.ts";
import { blobsOfRow, blobsOfWrite, noteBlobs } from "../blobs.ts";
import { openBlocks } from "../blocks/blocks.ts";
import { numbersOfTraces, OF_TRACES } from "../../run-groups.ts";
import { dissolveGroups } from "../run-groups.ts";
import { addToCounts, lastNumber, writeMeta } from "../store/meta.ts";
import { forgetMoves } from "../moves.ts";
import { deletePayloads } from "../store/payloads.ts";
import { forgetRuns } from "../rules.ts";
import { CROSSING } from "../store/tables.ts";
import { numbersOfId } from "../store/ids.ts";

interface Doomed extends Record<string, SqlStorageValue> {
  n: number;
  followers: number;
  id: string;
  bytes: number;
  large: string | null;
  attachments: string | null;
}

/** The traces that have a run of one of these threads. */
export function tracesOfThreads(sql: SqlStorage, threadIds: string[]): string[] {
  const rows = sql.exec<{ trace_id: string }>(
    "SELECT DISTINCT trace_id FROM runs WHERE thread_id IN (SELECT value FROM json_each(?))",
    JSON.stringify(threadIds),
  );
  return rows.toArray().map(({ trace_id }) => trace_id);
}

/** Which of these traces have their root here; or other runs, and no root on an earlier day. */
export function tracesBegunHere(sql: SqlStorage, traceIds: string[]): string[] {
  const rows = sql.exec<{ id: string }>(
    `SELECT j.value AS id FROM json_each(?) j WHERE EXISTS ${numbersOfId("j.value")}
       OR EXISTS (SELECT 1 FROM runs WHERE n IN ${numbersOfTraces("SELECT j.value AS id")} AND NOT (${CROSSING}))`,
    JSON.stringify(traceIds),
  );
  return rows.toArray().map(({ id }) => id);
}

/** Runs that one transaction deletes. Their ids are bound as one list, and SQLite takes a bound value of at most 2 MB. */
export const DELETED_AT_ONCE = 10_000;

/**
 * Deletes the first `DELETED_AT_ONCE` runs of these traces in the partition, and their feedback. Returns the number of runs. Runs of
 * a thread come last, because the traces of a thread are found by them (`tracesOfThreads`) when a deletion that failed is sent
 * again. To be called inside a transaction.
 */
export function deleteTraces(sql: SqlStorage, prefix: string, traceIds: string[]): number {
  const traces = JSON.stringify(traceIds);
  const runs = selectDoomed(sql, `r.n IN ${OF_TRACES} ORDER BY r.thread_id IS NOT NULL`, traces);
  const ids = runs.map(({ id }) => id);
  // Ids of both traces and runs: a late patch may name its run only.
  noteDeleted(sql, [...traceIds, ...ids]);
  sql.exec("DELETE FROM kept WHERE trace_id IN (SELECT value FROM json_each(?))", traces);
  deleteRuns(sql, prefix, runs);
  const ofThese = "run_id IN (SELECT value FROM json_each(?)) OR trace_id IN (SELECT value FROM json_each(?))";
  deleteFeedbackWhere(sql, ofThese, JSON.stringify(ids), traces);
  return runs.length;
}

/**
 * Deletes the first `DELETED_AT_ONCE` runs of traces that are not kept, and their feedback. Returns the number of runs. Later writes
 * of these traces are stored, as those of a day that was deleted as a whole. To be called inside a transaction.
 */
export function dropOthers(sql: SqlStorage, prefix: string): number {
  const runs = selectDoomed(sql, "r.trace_id NOT IN (SELECT trace_id FROM kept) ORDER BY r.n");
  deleteRuns(sql, prefix, runs);
  // Feedback can be of a run that never came.
  if (runs.length < DELETED_AT_ONCE)
    deleteFeedbackWhere(
      sql,
      `ifnull(trace_id NOT IN (SELECT trace_id FROM kept), 1) AND NOT EXISTS ${numbersOfId("feedback.run_id")}`,
    );
  return runs.length;
}

function selectDoomed(sql: SqlStorage, which: string, ...values: string[]): Doomed[] {
  return sql
    .exec<Doomed>(
      `SELECT r.n, r.followers, r.id, r.bytes, p.large, p.attachments FROM runs r LEFT JOIN payloads p ON p.n = r.n
       WHERE ${which} LIMIT ${DELETED_AT_ONCE}`,
      ...values,
    )
    .toArray();
}

/** Deletes runs with their payloads, and notes their objects in R2. */
function deleteRuns(sql: SqlStorage, prefix: string, runs: Doomed[]): void {
  if (runs.length === 0) return;
  dissolveGroups(sql, cutGroups(runs));
  const ids = runs.map(({ id }) => id);
  openBlocks(sql, ids);
  forgetMoves(sql, ids);
  writeMeta(sql, "top", lastNumber(sql));
  const numbers = runs.map(({ n }) => n);
  sql.exec("DELETE FROM runs WHERE n IN (SELECT value FROM json_each(?))", JSON.stringify(numbers));
  forgetRuns(sql, numbers);
  deletePayloads(sql, numbers);
  noteBlobs(sql, prefix, runs.flatMap(blobsOfRow));
  const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
  addToCounts(sql, { rows: -runs.length, bytes: -bytes, lastStart: 0 });
}

/** Deletes feedback, and notes that its places are to be deleted in D1. */
function deleteFeedbackWhere(sql: SqlStorage, which: string, ...values: string[]): void {
  sql.exec(`INSERT OR IGNORE INTO unlisted (id) SELECT id FROM feedback WHERE ${which}`, ...values);
  sql.exec(`DELETE FROM feedback WHERE ${which}`, ...values);
}

/** The first runs of groups of which some runs stay for the next transaction: these are to be found without it. */
function cutGroups(runs: Doomed[]): number[] {
  const deleted = new Set(runs.map(({ n }) => n));
  const isCut = ({ n, followers }: Doomed) =>
    Array.from({ length: followers }, (_, i) => n + 1 + i).some((m) => !deleted.has(m));
  return runs.filter((run) => run.followers > 0 && isCut(run)).map(({ n }) => n);
}

/** Notes ids of deleted traces or runs, so that later writes of them are dropped. */
export function noteDeleted(sql: SqlStorage, ids: string[]): void {
  sql.exec("INSERT OR IGNORE INTO deleted (id) SELECT value FROM json_each(?)", JSON.stringify(ids));
}

/** The writes without those of deleted traces, whose objects in R2 are deleted later. */
export function keepWrites(sql: SqlStorage, prefix: string, writes: RunWrite[]): RunWrite[] {
  if (sql.exec("SELECT 1 FROM deleted LIMIT 1").toArray().length === 0) return writes;
  const deleted = selectDeleted(sql, writes.flatMap(lookupIds));
  const isDropped = (write: RunWrite) => lookupIds(write).some((id) => deleted.has(id));
  noteBlobs(sql, prefix, writes.filter(isDropped).flatMap(blobsOfWrite));
  return writes.filter((write) => !isDropped(write));
}

/** Which of these ids are of deleted traces or runs. */
export function selectDeleted(sql: SqlStorage, ids: string[]): Set<string> {
  const rows = sql.exec<{ id: string }>(
    "SELECT id FROM deleted WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
  return new Set(rows.toArray().map(({ id }) => id));
}
