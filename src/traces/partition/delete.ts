/** Deleting traces: their runs, feedback and objects in R2. Later writes to them are rejected. */
import { attachmentKey } from "../ingest/payloads.ts";
import { idsOf } from "../shards.ts";
import { payloadKey } from "../stub.ts";
import type { LargePayload, RunWrite, StoredAttachment } from "../types.ts";
import { openBlocks } from "./blocks/blocks.ts";
import { addToCounts, lastNumber, writeMeta } from "./meta.ts";

/** R2 deletes this many objects in one call. */
const BLOBS_AT_ONCE = 1_000;
/**
 * A payload is deleted this long after its last run, milliseconds. Ingest stores payloads before the runs that refer to them, so
 * a run with the same payload can be on its way.
 */
const UPLOAD_MS = 600_000;

interface Doomed extends Record<string, SqlStorageValue> {
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

/** Runs that one transaction deletes. Their ids are bound as one list, and SQLite takes a bound value of at most 2 MB. */
export const DELETED_AT_ONCE = 10_000;

/** Deletes the first `DELETED_AT_ONCE` runs of these traces in the partition, and their feedback. To be called inside a transaction. */
export function deleteTraces(
  sql: SqlStorage,
  prefix: string,
  traceIds: string[],
): { runs: number; feedback: string[] } {
  const traces = JSON.stringify(traceIds);
  const runs = sql
    .exec<Doomed>(
      `SELECT r.id, r.bytes, p.large, p.attachments FROM runs r JOIN payloads p ON p.n = r.n
       WHERE r.trace_id IN (SELECT value FROM json_each(?)) LIMIT ${DELETED_AT_ONCE}`,
      traces,
    )
    .toArray();
  const ids = runs.map(({ id }) => id);
  const list = JSON.stringify(ids);
  // Ids of both traces and runs: a late patch may name its run only.
  noteDeleted(sql, [...traceIds, ...ids]);
  openBlocks(sql, ids);
  writeMeta(sql, "top", lastNumber(sql));
  sql.exec("DELETE FROM payloads WHERE n IN (SELECT n FROM runs WHERE id IN (SELECT value FROM json_each(?)))", list);
  sql.exec("DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?))", list);
  const feedback = sql
    .exec<{ id: string }>(
      `DELETE FROM feedback WHERE run_id IN (SELECT value FROM json_each(?)) OR trace_id IN (SELECT value FROM json_each(?))
       RETURNING id`,
      list,
      traces,
    )
    .toArray();
  noteBlobs(sql, prefix, runs);
  const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
  if (runs.length > 0) addToCounts(sql, { rows: -runs.length, bytes: -bytes, lastStart: 0 });
  return { runs: runs.length, feedback: feedback.map(({ id }) => id) };
}

/** Notes the objects of deleted runs. A payload's key is its hash, so other runs can have it too: see `dueBlobs`. */
function noteBlobs(sql: SqlStorage, prefix: string, runs: Doomed[]): void {
  const due = Date.now() + UPLOAD_MS;
  const keys = new Map<string, number>();
  for (const { id, large, attachments } of runs) {
    for (const { hash } of Object.values(JSON.parse(large ?? "{}") as Record<string, LargePayload>))
      keys.set(payloadKey(prefix, hash), due);
    for (const { name } of JSON.parse(attachments ?? "[]") as StoredAttachment[])
      keys.set(attachmentKey(prefix, id, name), 0);
  }
  for (const [key, at] of keys) sql.exec("INSERT OR REPLACE INTO doomed (key, due) VALUES (?, ?)", key, at);
}

/** Objects in R2 that are to be deleted now. A payload that a run still references is kept and leaves this list. */
export function dueBlobs(sql: SqlStorage, prefix: string): string[] {
  const rows = sql.exec<{ key: string }>(`SELECT key FROM doomed WHERE due <= ? LIMIT ${BLOBS_AT_ONCE}`, Date.now());
  const keys = rows.toArray().map(({ key }) => key);
  const payloads = payloadKey(prefix, "");
  const hashes = keys.filter((key) => key.startsWith(payloads)).map((key) => key.slice(payloads.length));
  if (hashes.length === 0) return keys;
  const kept = sql.exec<{ hash: string }>(
    `SELECT DISTINCT l.value ->> '$.hash' AS hash FROM payloads p, json_each(p.large) l
     WHERE p.large IS NOT NULL AND l.value ->> '$.hash' IN (SELECT value FROM json_each(?))`,
    JSON.stringify(hashes),
  );
  const shared = kept.toArray().map(({ hash }) => payloads + hash);
  if (shared.length === 0) return keys;
  forgetBlobs(sql, shared);
  return dueBlobs(sql, prefix);
}

/** When the next noted object is to be deleted, milliseconds. Infinity when there is none. */
export function nextDue(sql: SqlStorage): number {
  const { due } = sql.exec<{ due: number | null }>("SELECT min(due) AS due FROM doomed").one();
  return due ?? Number.POSITIVE_INFINITY;
}

export function forgetBlobs(sql: SqlStorage, keys: string[]): void {
  sql.exec("DELETE FROM doomed WHERE key IN (SELECT value FROM json_each(?))", JSON.stringify(keys));
}

/** Notes ids of deleted traces or runs, so that later writes of them are dropped. */
export function noteDeleted(sql: SqlStorage, ids: string[]): void {
  sql.exec("INSERT OR IGNORE INTO deleted (id) SELECT value FROM json_each(?)", JSON.stringify(ids));
}

/** The writes without those of deleted traces. */
export function withoutDeleted(sql: SqlStorage, writes: RunWrite[]): RunWrite[] {
  if (sql.exec("SELECT 1 FROM deleted LIMIT 1").toArray().length === 0) return writes;
  const ids = writes.flatMap(idsOf);
  const rows = sql.exec<{ id: string }>(
    "SELECT id FROM deleted WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
  const deleted = new Set(rows.toArray().map(({ id }) => id));
  return writes.filter((write) => !idsOf(write).some((id) => deleted.has(id)));
}
