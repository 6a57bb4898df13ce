/** The thread's own record, and how it reads on the wire. */
import { settings } from "../config.ts";
import type { BudgetSpending } from "../limits/budgets/rpc.ts";
import { type Json, parseExact, toNumbers } from "../lib/json.ts";
import type { Interrupts, RunError, ThreadSummary, Thread, ThreadStatus, Ttl } from "./types.ts";
import type { IndexRow } from "./search/rpc.ts";
import { currentShard } from "./search/store.ts";
import { interruptIds } from "./interrupts/waiting.ts";
import type { HeldRecord, Tables } from "./store/tables.ts";
import type { ValueRefs, ValueStore } from "./log/values.ts";

export interface ThreadRecord {
  thread_id: string;
  workspace_id: string;
  /** The thread of which this one is a copy: encrypted rows that it has taken are bound to that id (store/long-text.ts). */
  sealed_as?: string;
  /** The shard of the workspace's index that lists the thread; 0 when absent. */
  shard?: number;
  created: number;
  updated: number;
  stateUpdated: number;
  metadata: Json;
  config: Json;
  /** The root state after the last run or update. */
  values: ValueRefs | null;
  interrupts: Interrupts;
  /** The status when no run is open. */
  rest: Exclude<ThreadStatus, "busy">;
  error?: RunError;
  /** `kept`: the strategy "keep_latest" has been carried out since the last change of the state. */
  ttl?: Ttl & { expires: number; kept?: true };
  /** The request that made it, when it may be repeated; `seeds`: its first states are not made yet. */
  made_by?: { id: string; seeds?: true };
  /** What is spent of budgets, by their periods and ids: of a thread's, and of a run's for the run that continues it. */
  spent?: Record<string, BudgetSpending>;
  /** All but the latest checkpoint is deleted when no run is in flight. */
  prune?: true;
  /** What deletions of runs have still to remove (runs/removal.ts). */
  removals?: Removal[];
  /** How far token deltas have been merged, and when to continue (runs/ending.ts). */
  compacted?: { through: number; due?: number };
  /**
   * Made for one stateless run: never listed, and deleted at `until`, which the run's end sets. That is not before
   * `keep_until`. With `keep_interrupts` it becomes `kept` when its run ends with interrupts.
   */
  temporary?: { until?: number; keep_until?: number; keep_interrupts?: true };
  /**
   * Made for one run, which has left interrupts: a thread as any other until `until`. That is soon after a run that leaves none, and not
   * before `keep_until`.
   */
  kept?: { until: number; keep_until?: number };
}

/** What is still to be removed of a run that is deleted. */
export interface Removal {
  run_id: string;
  /** Another run executed at the deletion: its end says how the thread is. */
  during?: true;
  /** Its graph and assistant, and those that the thread had before it. */
  owner?: ThreadOwner;
  replaced?: ThreadOwner;
  /** Its checkpoints and writes are removed. */
  detached?: true;
  /** The sequence numbers of its events that are to be erased. */
  from?: number;
  to?: number;
}

/** The record of a thread that has just been made. */
export function newRecord(workspaceId: string, threadId: string, metadata: Json): ThreadRecord {
  const now = Date.now();
  const shard = currentShard(workspaceId);
  return {
    thread_id: threadId,
    workspace_id: workspaceId,
    ...(shard > 0 && { shard }),
    created: now,
    updated: now,
    stateUpdated: now,
    metadata,
    config: {},
    values: null,
    interrupts: {},
    rest: "idle",
    ttl: defaultTtl(),
  };
}

// The graph and the assistant of the thread: those of the run that has begun last. Of a thread that a run has made: that run's.

/** As the thread's metadata have them. */
export interface ThreadOwner {
  graph_id?: unknown;
  assistant_id?: unknown;
}

const isOf = ({ metadata }: ThreadRecord, { graph_id, assistant_id }: ThreadOwner): boolean =>
  metadata.graph_id === graph_id && metadata.assistant_id === assistant_id;

/** The record with this graph and assistant: itself when they are its own. */
export function withOwner(record: ThreadRecord, owner: ThreadOwner): ThreadRecord {
  if (isOf(record, owner)) return record;
  const { graph_id: _graph, assistant_id: _assistant, ...metadata } = record.metadata;
  const { graph_id, assistant_id } = owner;
  const ids = { ...(graph_id !== undefined && { graph_id }), ...(assistant_id !== undefined && { assistant_id }) };
  return { ...record, metadata: { ...metadata, ...ids } };
}

/** What a run that begins replaces of the record; undefined when it is of the same graph and assistant. */
export function ownerReplaced(record: ThreadRecord, run: ThreadOwner): ThreadOwner | undefined {
  const { graph_id, assistant_id } = record.metadata;
  return isOf(record, run) ? undefined : { graph_id, assistant_id };
}

/** The record without a run that is undone: with the graph and assistant of `before`, unless they were changed after it. */
export const withoutRun = (record: ThreadRecord, run: ThreadOwner, before: ThreadOwner | undefined): ThreadRecord =>
  before && isOf(record, run) ? withOwner(record, before) : record;

/** The kept record; undefined when the thread does not exist. A trace that is stored in its row goes to the outbox. */
export function readRecord(tables: Tables): ThreadRecord | undefined {
  const text = tables.thread();
  if (text === undefined) return undefined;
  const { trace, ended, ...stored } = parseExact(text) as ThreadRecord & HeldRecord;
  const record = { ...stored, interrupts: toNumbers(stored.interrupts) };
  tables.runs.foundEnding(ended);
  if (trace) tables.outbox.foundTrace(JSON.stringify(trace));
  tables.vault.origin = record.sealed_as ?? record.thread_id;
  return record;
}

/** The TTL of a thread that is made without one; undefined where `checkpointer.ttl` sets none. */
function defaultTtl(): ThreadRecord["ttl"] {
  const { default_ttl, strategy = "delete" } = settings.checkpointer?.ttl ?? {};
  return default_ttl === undefined ? undefined : startTtl({ strategy, ttl_minutes: default_ttl });
}

/** The TTL as kept: it counts from now. */
export function startTtl(ttl: Ttl | undefined): ThreadRecord["ttl"] {
  return ttl && { ...ttl, expires: Date.now() + ttl.ttl_minutes * 60_000 };
}

/** The same TTL, counted from now: the thread has changed. */
export function restartTtl(ttl: ThreadRecord["ttl"]): ThreadRecord["ttl"] {
  return ttl && startTtl({ strategy: ttl.strategy, ttl_minutes: ttl.ttl_minutes });
}

/** The thread on the wire. */
export function toWireThread(record: ThreadRecord, busy: boolean, values: ValueStore, mostValues = Infinity): Thread {
  const { ttl, error } = record;
  const isLong = record.values !== null && values.size(record.values) > mostValues;
  return {
    thread_id: record.thread_id,
    created_at: new Date(record.created).toISOString(),
    updated_at: new Date(record.updated).toISOString(),
    state_updated_at: new Date(record.stateUpdated).toISOString(),
    status: busy ? "busy" : record.rest,
    metadata: record.metadata,
    config: record.config,
    values: isLong ? null : record.values && (JSON.parse(values.flatAll(record.values)) as Json),
    interrupts: record.interrupts,
    ...(error && { error }),
    ...(ttl && {
      ttl: { strategy: ttl.strategy, ttl_minutes: ttl.ttl_minutes, expires_at: new Date(ttl.expires).toISOString() },
    }),
  };
}

/** The thread's status between two runs. */
export function readThreadSummary(
  record: ThreadRecord | undefined,
  busy: boolean,
  assistantOf: (interruptId: string) => string | undefined,
): ThreadSummary | undefined {
  if (!record) return undefined;
  const { graph_id, assistant_id } = record.metadata as { graph_id?: string; assistant_id?: string };
  const interrupts = pendingInterrupts(record);
  const raised = interrupts.map((id) => [id, assistantOf(id)] as const);
  const raisedBy = Object.fromEntries(raised.flatMap(([id, by]) => (by === undefined ? [] : [[id, by] as const])));
  return { busy, graphId: graph_id, assistantId: assistant_id, interrupts, raisedBy };
}

/** The same of a thread that cannot be read, because its key is destroyed: it exists, and can be deleted. */
export const UNREADABLE_SUMMARY: ThreadSummary = {
  busy: false,
  graphId: undefined,
  assistantId: undefined,
  interrupts: [],
  raisedBy: {},
};

/** The ids of the interrupts that the last run left. */
export function pendingInterrupts(record: ThreadRecord | undefined): string[] {
  return interruptIds(record?.interrupts);
}

/** How long a thread that is made for one run is found after it, and for interrupts: longer than a link of the server's own is valid. */
const KEPT_MS = { found: 60_000, interrupts: 8 * 24 * 3_600_000 };

/** Until when a thread that is made for one run is kept. `waits`: interrupts wait. */
export const keptUntil = (waits: boolean, keepUntil = 0): number =>
  Math.max(Date.now() + (waits ? KEPT_MS.interrupts : KEPT_MS.found), keepUntil);

/** Longest state, in characters of JSON, that the index holds for searches by value. */
const INDEXED_VALUES = 16_000;

/** Longest interrupts, in characters of JSON, that the index holds: a row of D1 holds 2 MB. */
const INDEXED_INTERRUPTS = 256_000;

/** The thread's row in the index. `open`: a run has not ended, also one that is not due yet. */
export function indexRow(
  record: ThreadRecord,
  { busy, open }: { busy: boolean; open: boolean },
  values: ValueStore,
  revision: number,
): IndexRow {
  const small = record.values !== null && values.size(record.values) <= INDEXED_VALUES;
  return {
    id: record.thread_id,
    status: busy ? "busy" : record.rest,
    open,
    metadata: record.metadata,
    config: record.config,
    values: small && record.values ? (JSON.parse(values.flatAll(record.values)) as Json) : null,
    hasValues: record.values !== null,
    interrupts: JSON.stringify(record.interrupts).length <= INDEXED_INTERRUPTS ? record.interrupts : {},
    error: record.error ? { ...record.error } : null,
    createdAt: record.created,
    updatedAt: record.updated,
    stateUpdatedAt: record.stateUpdated,
    revision,
  };
}
