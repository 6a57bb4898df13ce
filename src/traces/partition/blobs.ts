/** Objects in R2 that no run uses: of deleted runs, of payloads that were replaced, and of writes that were dropped. */
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { attachmentKey } from "../ingest/payloads.ts";
import { LARGE_BYTES } from "../limits.ts";
import { payloadKey } from "../stub.ts";
import { LARGE_FIELDS, type LargePayload, type RunWrite, type StoredAttachment } from "../types.ts";

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

/** Objects in R2 that are to be deleted now. A payload that a run has is kept, and removed from this list. */
export function dueBlobs(sql: SqlStorage, prefix: string): string[] {
  const rows = sql.exec<{ key: string }>(`SELECT key FROM doomed WHERE due <= ? LIMIT ${BLOBS_AT_ONCE}`, Date.now());
  const keys = rows.toArray().map(({ key }) => key);
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
