/** Deleting traces: their runs, feedback and objects in R2. Later writes to them are rejected. */
import { CONNECTIONS, inParallel } from "../../../lib/parallel.ts";
import { attachmentKey } from "../../ingest/payloads.ts";
import { LARGE_BYTES } from "../../limits.ts";
import { payloadKey } from "../../stub.ts";
import { LARGE_FIELDS, type LargePayload, type RunWrite, type StoredAttachment } from "../../types.ts";
import { type RunRow, CROSSING } from "../store/tables.ts";
import type { TraceIds } from "../../rpc.ts";
import { lookupIds } from "../../locate.ts";
import { openBlocks } from "../blocks/blocks.ts";
import { numbersOfTraces, OF_TRACES, numbersOfId } from "../store/ids.ts";
import { addToCounts, lastNumber, writeMeta } from "../store/meta.ts";
import { forgetMoves } from "../store/changes.ts";
import { deletePayloads } from "../store/payloads.ts";
import { forgetRuns } from "../rules.ts";

// Objects in R2 that no run uses: of deleted runs, of payloads that were replaced, and of writes that were dropped.

/** R2 deletes this many objects in one call. */
const BLOBS_AT_ONCE = 1_000;
/**
 * A payload is deleted this long after its last run, milliseconds. Ingest stores payloads before the runs that refer to them, so
 * a run with the same payload can be on its way.
 */
export const UPLOAD_MS = 600_000;

/** An object of a run: a payload by its hash, which other runs can have too, or an attachment of this run only. */
type Blob = { hash: string } | { run: string; attachment: string };

interface WithBlobs {
  id: string;
  large: string | null;
  attachments: string | null;
}

/** The objects of a stored run. */
export function blobsOfRow({ id, large, attachments }: WithBlobs): Blob[] {
  if (large === null && attachments === null) return [];
  const payloads = Object.values(JSON.parse(large ?? "{}") as Record<string, LargePayload>);
  const files = JSON.parse(attachments ?? "[]") as StoredAttachment[];
  return [...payloads.map(({ hash }) => ({ hash })), ...files.map(({ name }) => ({ run: id, attachment: name }))];
}

/** The objects that a write has brought. */
export function blobsOfWrite(write: RunWrite): Blob[] {
  const payloads = LARGE_FIELDS.flatMap((field) => {
    const payload = write[field];
    return payload && "hash" in payload ? [{ hash: payload.hash }] : [];
  });
  return [...payloads, ...(write.attachments ?? []).map(({ name }) => ({ run: write.id, attachment: name }))];
}

/** The objects that runs had or writes brought, and that the runs do not have after it. */
export function unusedBlobs(known: Blob[], after: WithBlobs[]): Blob[] {
  if (known.length === 0) return [];
  const kept = new Set(after.flatMap(blobsOfRow).map((blob) => JSON.stringify(blob)));
  return known.filter((blob) => !kept.has(JSON.stringify(blob)));
}

/** Notes objects to be deleted. `dueBlobs` keeps a payload that a run has then. */
export function noteBlobs(sql: SqlStorage, prefix: string, blobs: Blob[]): void {
  const due = Date.now() + UPLOAD_MS;
  for (const blob of blobs) {
    sql.exec("INSERT OR REPLACE INTO doomed (key, due) VALUES (?, ?)", blobKey(prefix, blob), "hash" in blob ? due : 0);
  }
}

function blobKey(prefix: string, blob: Blob): string {
  return "hash" in blob ? payloadKey(prefix, blob.hash) : attachmentKey(prefix, blob.run, blob.attachment);
}

/** Whether R2 has the objects that these writes have brought. */
export async function hasBlobs(bucket: R2Bucket, prefix: string, writes: RunWrite[]): Promise<boolean> {
  const keys = new Set(writes.flatMap(blobsOfWrite).map((blob) => blobKey(prefix, blob)));
  const found = await inParallel(keys, CONNECTIONS, (key) => bucket.head(key));
  return !found.includes(null);
}

/**
 * Keeps deletions of objects in R2 and writes that refer to the same objects apart. Ingest stores a payload before the write, so a
 * deletion can come in between. Such a write is refused, and its client sends it again.
 */
export class BlobDeletion {
  /** The objects of writes that are under way, with how many writes each has. */
  readonly #written = new Map<string, number>();
  #deletion: Promise<void> | undefined;

  /** Makes a write. Its objects are not deleted meanwhile. False when one was deleted since it was stored, and nothing is written. */
  async around(
    bucket: R2Bucket,
    prefix: string,
    writes: RunWrite[],
    { isDoomed, write }: { isDoomed: (keys: string[]) => boolean; write: () => Promise<void> },
  ): Promise<boolean> {
    const keys = [...new Set(writes.flatMap(blobsOfWrite).map((blob) => blobKey(prefix, blob)))];
    for (const key of keys) this.#written.set(key, (this.#written.get(key) ?? 0) + 1);
    try {
      if (keys.length > 0) {
        await this.#deletion?.catch(() => undefined);
        if (isDoomed(keys) && !(await hasBlobs(bucket, prefix, writes))) return false;
      }
      await write();
      return true;
    } finally {
      for (const key of keys) {
        const left = (this.#written.get(key) ?? 1) - 1;
        if (left > 0) this.#written.set(key, left);
        else this.#written.delete(key);
      }
    }
  }

  /** Whether a write that is under way refers to the object. */
  isWritten(key: string): boolean {
    return this.#written.has(key);
  }

  async delete(bucket: R2Bucket, keys: string[]): Promise<void> {
    await (this.#deletion = bucket.delete(keys));
  }
}

/** Whether one of these objects is to be deleted, or was deleted less than `UPLOAD_MS` ago. */
export function isDoomed(sql: SqlStorage, keys: string[]): boolean {
  const found = sql.exec(
    "SELECT 1 FROM doomed WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1",
    JSON.stringify(keys),
  );
  return found.toArray().length > 0;
}

/**
 * Objects in R2 that are to be deleted now, but for those of writes that are under way. A payload that a run has is kept, and removed
 * from this list.
 */
export function dueBlobs(sql: SqlStorage, prefix: string, isWritten: (key: string) => boolean): string[] {
  sql.exec("DELETE FROM doomed WHERE due < 0 AND due >= ?", UPLOAD_MS - Date.now());
  const rows = sql.exec<{ key: string }>(
    `SELECT key FROM doomed WHERE due BETWEEN 0 AND ? LIMIT ${BLOBS_AT_ONCE}`,
    Date.now(),
  );
  const keys = rows.toArray().flatMap(({ key }) => (isWritten(key) ? [] : [key]));
  const payloads = payloadKey(prefix, "");
  const hashes = keys.filter((key) => key.startsWith(payloads)).map((key) => key.slice(payloads.length));
  if (hashes.length === 0) return keys;
  // The size of a run includes its payloads in R2, and `payloads` is too wide to be read as a whole.
  const kept = sql.exec<{ hash: string }>(
    `SELECT DISTINCT l.value ->> '$.hash' AS hash FROM runs r CROSS JOIN payloads p ON p.n = r.n, json_each(p.large) l
     WHERE r.bytes > ${LARGE_BYTES} AND l.value ->> '$.hash' IN (SELECT value FROM json_each(?))`,
    JSON.stringify(hashes),
  );
  const shared = kept.toArray().map(({ hash }) => payloads + hash);
  if (shared.length === 0) return keys;
  forgetBlobs(sql, shared);
  return dueBlobs(sql, prefix, isWritten);
}

/** When the next noted object is to be deleted or forgotten, milliseconds. Infinity when there is none. */
export function nextDue(sql: SqlStorage): number {
  const { due } = sql
    .exec<{ due: number | null }>("SELECT min(iif(due < 0, ? - due, due)) AS due FROM doomed", UPLOAD_MS)
    .one();
  return due ?? Number.POSITIVE_INFINITY;
}

/** Notes that objects were deleted. A write that refers to a payload can still be on its way. */
export function noteDeletedBlobs(sql: SqlStorage, prefix: string, keys: string[]): void {
  const payloads = payloadKey(prefix, "");
  const [kept, others] = [
    keys.filter((key) => key.startsWith(payloads)),
    keys.filter((key) => !key.startsWith(payloads)),
  ];
  sql.exec(
    "UPDATE doomed SET due = ? WHERE key IN (SELECT value FROM json_each(?))",
    -Date.now(),
    JSON.stringify(kept),
  );
  forgetBlobs(sql, others);
}

function forgetBlobs(sql: SqlStorage, keys: string[]): void {
  sql.exec("DELETE FROM doomed WHERE key IN (SELECT value FROM json_each(?))", JSON.stringify(keys));
}

// Putting runs into groups, and groups apart (../store/ids.ts).

/** Puts the runs of a trace beside each other, in the order of the first. */
export function byTrace<T extends Pick<RunRow, "trace_id">>(rows: T[]): T[] {
  return [...Map.groupBy(rows, ({ trace_id }) => trace_id).values()].flat();
}

/** Sets `followers` of new runs with consecutive numbers. */
export function groupRuns(rows: Pick<RunRow, "trace_id" | "placed" | "followers">[]): void {
  let first: (typeof rows)[number] | undefined;
  for (const row of rows) {
    const follows = row.placed !== 0 && first?.trace_id === row.trace_id;
    row.followers = follows ? -1 : 0;
    if (follows && first) first.followers += 1;
    else first = row.placed === 0 ? undefined : row;
  }
}

/** Puts each run of the groups of these runs into the index of traces. */
export function dissolveGroups(sql: SqlStorage, numbers: number[]): void {
  for (const n of numbers) {
    const [first] = sql
      .exec<{ n: number; followers: number }>(
        "SELECT n, followers FROM runs WHERE n <= ? AND followers >= 0 ORDER BY n DESC LIMIT 1",
        n,
      )
      .toArray();
    if (first && first.followers > 0)
      sql.exec("UPDATE runs SET followers = 0 WHERE n BETWEEN ? AND ?", first.n, first.n + first.followers);
  }
}

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

/** Runs of which one page has the traces. */
const RUNS_AT_ONCE = 20_000;

/** The traces of the runs with numbers from `after` on, for a page. */
export function tracesAfter(sql: SqlStorage, after: number): TraceIds {
  const rows = sql
    .exec<{ n: number; trace_id: string }>(
      "SELECT n, trace_id FROM runs WHERE n > ? ORDER BY n LIMIT ?",
      after,
      RUNS_AT_ONCE,
    )
    .toArray();
  const last = rows.length === RUNS_AT_ONCE ? rows.at(-1) : undefined;
  return { traces: [...new Set(rows.map(({ trace_id }) => trace_id))], ...(last && { next: last.n }) };
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
