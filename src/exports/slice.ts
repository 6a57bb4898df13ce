/**
 * A slice: the next rows of an export run become one file, and then one row update makes it count. If a worker stops in
 * between, the next owner starts from the cursor and writes the same key.
 */
import type { ExportRunRow, ExportRow } from "./store.ts";
import type { ExportCursor, ExportedFile, PendingUpload } from "./table.ts";
import { byteLength } from "../lib/bytes.ts";
import { StoreError } from "./s3/errors.ts";
import { type ObjectStore, ObjectSink } from "./s3/store.ts";
import type { PageRequest, RunPage } from "../traces/columns.ts";
import type { TracePartitionRpc } from "../traces/rpc.ts";
import { nextShard } from "../traces/projects/partitions.ts";
import { chosenFields, type ExportField } from "./parquet/columns.ts";
import type { ExportDeps } from "./deps.ts";
import { keyBelow, type OpenDestination } from "./destinations/open.ts";
import { commitSlice, renewLease } from "./ledger/lease.ts";
import { RunFile } from "./parquet/parquet.ts";

// The paths of files below a destination's prefix (specification 4.2).

/** The folder of one project and day. Month and day are plain numbers, as readers infer from Hive paths. */
export function runFolder(run: { exportId: string; workspaceId: string; projectId: string; day: string }): string {
  const [year, month, day] = run.day.split("-").map(Number);
  const folders = [`export_id=${run.exportId}`, `tenant_id=${run.workspaceId}`, `session_id=${run.projectId}`, "runs"];
  return [...folders, `year=${year}`, `month=${month}`, `day=${day}`].join("/");
}

/**
 * The next file of a run: its shard, from 1, and its number in that shard, from 0. A late run's file has the number of the
 * schedule's window with which it was exported. The name depends on nothing else, so that a retry overwrites its own file.
 */
export function fileName(
  { shard, files, late }: Pick<ExportRunRow, "shard" | "files" | "late">,
  window: number,
): string {
  const index = files.filter((file) => (file.shard ?? 0) === shard).length;
  return `${late ? `late-${window}` : "part"}-${shard === 0 ? "" : `s${padNumber(shard, 2)}-`}${padNumber(index, 5)}.parquet`;
}

const padNumber = (number: number, digits: number) => String(number).padStart(digits, "0");

/** Written last: a reader that sees it has every file it names. The underscore hides it from Spark and Athena. */
export function manifestKey(exportId: string): string {
  return `export_id=${exportId}/_manifest.json`;
}

/** Another owner has the run, or it has ended: nothing more may be written. */
export class LeaseLost extends Error {
  constructor() {
    super("the lease of the export run is lost");
    this.name = "LeaseLost";
  }
}

/** The most bytes of a run's file list. One D1 row holds it. It is enough for about 2,000 files of 256 MB. */
const FILES_BYTES = 1_500_000;

/** The input of a slice: a claimed run, its export, and its destination. */
export interface SliceWork {
  run: ExportRunRow;
  job: ExportRow;
  destination: OpenDestination;
  store: ObjectStore;
}

/**
 * Exports one slice of a claimed run and commits it. Gives the run as committed.
 * @throws LeaseLost when the run was taken or has ended; StoreError when the store refuses.
 */
export async function exportSlice(deps: ExportDeps, work: SliceWork): Promise<ExportRunRow> {
  const { run, job, store } = work;
  const lease = new HeldLease(deps, run);
  if (byteLength(run.files) > FILES_BYTES) {
    throw new StoreError(
      "TooManyFiles: the day is too large for one run; choose shorter windows.",
      "TooManyFiles",
      true,
    );
  }
  const key = keyBelow(work.destination.config, `${runFolder(run)}/${fileName(run, job.spawned)}`);
  await clearRemains(store, run, () => lease.keep());
  const pending: PendingUpload = {
    file_path: store.locate(key),
    upload_id: null,
    target_cursor: null,
    rows_count: null,
  };
  const { partBytes } = deps.limits;
  const sink = new ObjectSink(
    store,
    { key, contentType: "application/vnd.apache.parquet", partBytes },
    {
      uploadDue: () => lease.keep(pending),
      uploadCreated: (uploadId) => {
        pending.upload_id = uploadId;
        return lease.keep(pending);
      },
      partUploaded: async () => {
        await deps.at("part uploaded");
        await lease.keepWhenOld();
      },
    },
  );
  try {
    const fields = chosenFields(job.exportFields as ExportField[] | null);
    const file = new RunFile(sink, fields, job.compression);
    const { cursor, done, changes } = await fill(deps, file, lease, readPages(deps, work, fields));
    // A shard is seen as it was when its first page was read: what changes after that is late.
    const seen = run.cursor === null ? { ...run.seen, [run.shard]: changes } : run.seen;
    if (file.rows === 0) return await commit(deps, run, { cursor, done, seen, file: null });
    await file.finish();
    pending.target_cursor = JSON.stringify(cursor);
    pending.rows_count = file.rows;
    await lease.keep(pending);
    await deps.at("before complete");
    await sink.complete();
    await lease.keepWhenOld();
    await store.confirm(key, sink.offset);
    if (pending.upload_id !== null) {
      // A successor's upload of this key must stay, so the lease is checked.
      await lease.keep();
      await abortOthers(store, key, () => lease.keep());
    }
    await deps.at("after complete");
    const { shard } = run;
    const written = {
      location: store.locate(key),
      key,
      rows: file.rows,
      bytes: sink.offset,
      sha256: sink.sha256,
      shard,
    };
    return await commit(deps, run, { cursor, done, seen, file: written });
  } catch (error) {
    // The failed call may have used most of the lease, and the abort is another call.
    await lease.keep().catch(() => undefined);
    // If the abort fails, the next owner repeats it from `pending`.
    await sink.abort().catch(() => undefined);
    throw error;
  }
}

/** Aborts the uploads that a dead owner left; without it, that owner could still complete one. */
export async function clearRemains(
  store: ObjectStore,
  { pending }: ExportRunRow,
  keep: () => Promise<void> = async () => undefined,
): Promise<void> {
  if (!pending) return;
  const key = pending.file_path.slice(store.locate("").length);
  const ids = new Set(await store.openUploads(key));
  if (pending.upload_id) ids.add(pending.upload_id);
  await abortOpen(store, key, [...ids], keep);
}

/**
 * Aborts the uploads of a key whose object is complete: the store begins one twice when its first answer is lost, and the
 * bucket's owner pays for the parts. A refusal does not make the object any less complete.
 */
export async function abortOthers(
  store: ObjectStore,
  key: string,
  keep = async () => undefined as void,
): Promise<void> {
  try {
    await abortOpen(store, key, await store.openUploads(key), keep);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

/** Each abort is a call that may take as long as a lease allows, so the lease is kept before each. */
async function abortOpen(store: ObjectStore, key: string, ids: string[], keep: () => Promise<void>): Promise<void> {
  for (const id of ids) {
    await keep();
    await store.abortUpload(key, id);
  }
}

interface Reading {
  cursor: ExportCursor | null;
  done: boolean;
}

interface Slice extends Reading {
  seen: ExportRunRow["seen"];
  file: ExportedFile | null;
}

type ReadPage = (after: ExportCursor | null) => Promise<RunPage | undefined>;

/** Fills a file up to a slice's bounds. The next page is read while this one is encoded. */
async function fill(
  { limits, resolve, pause }: ExportDeps,
  file: RunFile,
  lease: HeldLease,
  pages: { first: ExportCursor | null; read: ReadPage },
): Promise<Reading & { changes: number }> {
  let cursor = pages.first;
  let changes: number | undefined;
  let next: ReturnType<ReadPage> | undefined = pages.read(cursor);
  while (next) {
    const page: RunPage | undefined = await next;
    await lease.keepWhenOld();
    if (!page) return { cursor, done: true, changes: changes ?? 0 };
    changes ??= page.changes;
    cursor = cursorAfter(page, cursor);
    const full: boolean = file.rows + page.rows >= limits.sliceRows || file.textBytes + page.bytes >= limits.sliceBytes;
    next = page.done || full ? undefined : pages.read(cursor);
    next?.catch(() => undefined);
    await file.add(page, resolve, pause);
    await pause();
    if (page.done) return { cursor, done: true, changes };
  }
  return { cursor, done: false, changes: changes ?? 0 };
}

function readPages(
  deps: ExportDeps,
  { run, job }: SliceWork,
  fields: readonly ExportField[],
): { first: ExportCursor | null; read: ReadPage } {
  const partition: TracePartitionRpc = deps.partition(run.workspaceId, run);
  const request: Omit<PageRequest, "after"> = {
    startTime: run.startTime,
    endTime: run.endTime,
    filter: job.filter,
    since: run.since?.map(({ startTime, endTime, seen }) => ({ startTime, endTime, change: seen[run.shard] ?? 0 })),
    limit: deps.limits.pageRows,
    maxBytes: deps.limits.pageBytes,
    fields,
  };
  const read: ReadPage = (after) => {
    const { start_time, id, change, moved = {} } = after ?? {};
    const position = start_time === undefined || id === undefined ? null : { start_time, id };
    const skip = Object.entries(moved).flatMap(([one, isExported]) => (isExported ? [one] : []));
    return partition.readPage({ ...request, after: position, movedSince: change, skip });
  };
  return { first: run.cursor, read };
}

/** The first move of a run across the cursor says whether it is exported. */
function cursorAfter({ next, changes, moved = [] }: RunPage, before: ExportCursor | null): ExportCursor | null {
  if (!next) return before;
  const all = { ...Object.fromEntries(moved.map(({ id, wasRead }) => [id, wasRead])), ...before?.moved };
  return { ...next, change: changes, ...(Object.keys(all).length > 0 && { moved: all }) };
}

async function commit(deps: ExportDeps, run: ExportRunRow, { cursor, done, seen, file }: Slice): Promise<ExportRunRow> {
  await deps.at("before commit");
  const shard = done ? await nextShard(deps.db, run.workspaceId, run) : run.shard;
  const reached = shard === run.shard ? { shard, cursor } : { shard: shard ?? run.shard, cursor: null };
  const status = shard === undefined ? "COMPLETED" : "RUNNING";
  const now = deps.now();
  if (!(await commitSlice(deps.db, run, { ...reached, seen, status, file, now, until: now + deps.limits.lease }))) {
    throw new LeaseLost();
  }
  await deps.at("after commit");
  return {
    ...run,
    ...reached,
    seen,
    status,
    failedAttempts: 0,
    pending: null,
    files: file ? [...run.files, file] : run.files,
  };
}

/** The owner's side of a lease. */
class HeldLease {
  private renewedAt: number;

  constructor(
    private readonly deps: ExportDeps,
    private readonly run: ExportRunRow,
  ) {
    this.renewedAt = deps.now();
  }

  async keepWhenOld(): Promise<void> {
    if (this.deps.now() - this.renewedAt >= this.deps.limits.renewAfter) await this.keep();
  }

  async keep(pending?: PendingUpload): Promise<void> {
    const now = this.deps.now();
    if (!(await renewLease(this.deps.db, this.run, now + this.deps.limits.lease, pending))) throw new LeaseLost();
    this.renewedAt = now;
  }
}
