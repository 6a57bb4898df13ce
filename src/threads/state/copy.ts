/**
 * Copies of a thread: its checkpoints and what they refer to, without its runs and its log. The object of the copy reads
 * the rows in pages and writes them in one transaction of its storage. A copy that fails leaves nothing, also when one of
 * the two objects restarts.
 */
import { backOff } from "../../lib/retry.ts";
import { remoteProblem } from "../../lib/problem.ts";
import { COPY_START, type CopiedRow, copiedRows, insertCopied } from "../store/copy.ts";
import { hasNextStep } from "./state.ts";
import { withinMetadata } from "../limits.ts";
import { restartTtl, type ThreadRecord } from "../record.ts";
import { toRunRecord } from "../run.ts";
import type { ThreadContext } from "../context.ts";
import type { Json } from "../../lib/json.ts";
import type { CopyPage, ThreadRpc } from "../rpc.ts";
import type { Tables } from "../store/tables.ts";

/** How often a copy starts again when its source has changed. */
const TRIES = 5;

const lives = new WeakMap<ThreadContext, string>();

/** A page of the thread's rows: the first one, or from where the page before ended. */
export async function copyPage(context: ThreadContext, from = COPY_START): Promise<CopyPage> {
  const waits = context.record?.rest === "error" && from === COPY_START && (await hasNextStep(context));
  const { eventLog, tables } = context;
  const record = context.record && withoutFailure(context.record, waits);
  if (!record || record.temporary?.until) throw remoteProblem(409, "The thread to copy does not exist.");
  eventLog.flush();
  const life = lives.get(context) ?? crypto.randomUUID();
  lives.set(context, life);
  const answering = from === COPY_START ? listResuming(tables) : [];
  return { version: `${life} ${tables.rowsWritten}`, thread: record, answering, ...copiedRows(tables, from) };
}

/** Runs in flight that answer questions. */
const listResuming = (tables: Tables): string[] =>
  tables.runs
    .open()
    .map(toRunRecord)
    .flatMap(({ id, outcome }) => (outcome.answered?.length ? id : []));

/** A copy has no runs, so none that failed. `waits`: its graph stopped between two steps. */
function withoutFailure(record: ThreadRecord, waits: boolean): ThreadRecord {
  if (record.rest !== "error") return record;
  return { ...record, rest: waits ? "interrupted" : "idle", error: undefined };
}

/** Makes an empty thread a copy of `source` or leaves it empty. `metadata` replaces that of `source`. 409 when `source` changes at every attempt. */
export async function copyInto(context: ThreadContext, source: ThreadRpc, metadata?: Json): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await context.tables.longTransaction(() => paste(context, source, metadata));
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      if (attempt === TRIES) throw remoteProblem(409, error.message);
      await backOff(attempt);
    }
  }
}

class Changed extends Error {
  constructor() {
    super("The thread changed while it was copied. Copy it when no run is in flight.");
  }
}

async function paste({ tables, checkpoints, threadId }: ThreadContext, source: ThreadRpc, given?: Json): Promise<void> {
  const first = await source.copyPage();
  tables.vault.origin = first.thread.sealed_as ?? first.thread.thread_id;
  for (let page = first; ; page = await source.copyPage(page.next)) {
    if (page.version !== first.version) throw new Changed();
    tables.transaction(() => {
      for (const one of page.rows) insert(tables, one, threadId);
    });
    if (!page.next) break;
  }
  // The copy has no run that answers, so its questions wait.
  tables.transaction(() => first.answering?.forEach((run) => checkpoints.removeResumes(run)));
  const now = Date.now();
  // What is due on the source is not due on the copy, and it has a log of its own.
  const {
    temporary: _temporary,
    kept: _kept,
    compacted: _compacted,
    prune: _prune,
    made_by: _made,
    removals = [],
    ...record
  } = first.thread;
  const metadata = withinMetadata({ ...(given ?? record.metadata), thread_id: threadId });
  const own = {
    thread_id: threadId,
    sealed_as: tables.vault.origin,
    metadata,
    created: now,
    updated: now,
    ttl: restartTtl(record.ttl),
    // Checkpoints of a deleted run that are not removed yet have been copied.
    ...(removals.some(({ detached }) => !detached) && {
      removals: removals.flatMap(({ run_id, detached }) => (detached ? [] : [{ run_id }])),
    }),
  };
  tables.putThread(JSON.stringify({ ...record, ...own }));
}

/** Checkpoint metadata names the thread, so packs are written again. */
function insert(tables: Tables, copied: CopiedRow, threadId: string): void {
  const { table, row } = copied;
  if (table !== "packs") return insertCopied(tables, copied);
  const entries = JSON.parse(tables.packs.entriesIn(row)) as { metadata: Record<string, unknown> }[];
  for (const entry of entries) entry.metadata.thread_id = threadId;
  tables.packs.insert(String(row.last_id), String(row.first_id), JSON.stringify(entries));
}
