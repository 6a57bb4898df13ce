/** What a TracePartition gives and takes over RPC: the type that exports, queries and the agent server depend on. */
import type { TraceTier } from "./projects/table.ts";
import type { ChangedRequest, PageRequest, RunPage } from "./columns.ts";
import type {
  LargeField,
  RunPosition,
  RunWrite,
  StoredFeedback,
  QueriedRun,
  PartitionStats,
  PartitionSeries,
  RunTimes,
  ThreadStats,
  ThreadSummary,
  PartitionIdentity,
  TraceTreeRun,
} from "./types.ts";

// The order of runs by a figure. Those without it come last in either order; runs with the same one are in the order of their ids.

/** What runs can be sorted by, besides their start. */
export const RANKED = ["latency", "total_tokens", "total_cost"] as const;

export interface RankPosition {
  figure: number | null;
  id: string;
}

/** The first runs in the order of a figure, behind a position. */
export interface RankRequest {
  by: (typeof RANKED)[number];
  order: "asc" | "desc";
  after: RankPosition | null;
  limit: number;
}

/** `bytes`: of what a query gives of the run. */
export interface RankedRun extends RankPosition {
  bytes: number;
}

export function compareFigures(order: "asc" | "desc", a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (a === b) return 0;
  return a < b === (order === "asc") ? -1 : 1;
}

export function compareRanked(order: "asc" | "desc", a: RankPosition, b: RankPosition): number {
  const byId = a.id === b.id ? 0 : a.id < b.id === (order === "asc") ? -1 : 1;
  return compareFigures(order, a.figure, b.figure) || byId;
}

// The RPC methods of a partition that rules use. The partition stores which runs a rule has taken, so this is deleted with the runs.

/** Which runs are looked at: those that changed after a time, or those of a window of start_time, microseconds. */
export type RuleReach = { since: number; pauses?: RulePause[] } | { startTime: number; endTime: number };

/** A time in which a rule was paused: what changes in it is not looked at. Milliseconds; no end while it lasts. */
export type RulePause = [from: number, to: number | null];

/** The part of a `RunSelection` that rules have. */
export interface RuleFilters {
  filter?: string;
  traceFilter?: string;
  treeFilter?: string;
  traceElsewhere?: string[];
  treeElsewhere?: string[];
}

export interface TakeRequest {
  /** The id of the rule. A run is taken once by each id. */
  rule: string;
  /** The name of the reading: how far it has come is stored under it. */
  reading: string;
  reach: RuleReach;
  selection: RuleFilters;
  /** The part of the runs that is taken, from 0 to 1. */
  rate: number;
  /** At most this many runs. */
  limit: number;
  /** A run that is not settled for this time is given again, milliseconds. */
  lease: number;
}

/** A run that a rule is to work on. */
export interface RuleRun {
  id: string;
  /** How often it was given, this time included. */
  attempt: number;
  /** The ids of the actions that are done. */
  done: string[];
}

export interface RuleBatch {
  runs: RuleRun[];
  /** Others can be taken now. */
  more: boolean;
  /** The number of the last change that the reading has seen (partition/store/changes.ts). */
  change: number;
  counts: RuleCounts;
}

/** `next`: where the next page begins; undefined after the last one. */
export interface TraceIds {
  traces: string[];
  next?: number;
}

/** What became of a run: it is over, or to be given again. */
export interface RuleOutcome {
  id: string;
  state: "done" | "failed" | "due";
  /** The id of an action that has been done. It is progress: attempts count anew. */
  did?: string;
  /** US dollars. */
  cost: number;
  /** Of `due`: after how many milliseconds; 0: before the runs that are new, and the attempt does not count. */
  wait?: number;
}

/** Runs that a rule has taken: those that wait, due first, or those that are done, newest first. */
export interface RuleRunsRequest {
  rule: string;
  state: "due" | "done";
  limit: number;
}

export interface RuleRunState {
  id: string;
  attempts: number;
  /** The ids of the actions that are done. */
  done: string[];
  /** When it may be worked on, milliseconds: while a worker has it, when that is given up. Null: it is done. */
  due: number | null;
}

/** What a rule did with the runs of a partition, also with those that were deleted since. */
export interface RuleCounts {
  taken: number;
  done: number;
  failed: number;
  /** US dollars. */
  cost: number;
}

/** The runs of a partition that a query selects. All conditions must match. */
export interface RunSelection {
  ids?: string[];
  traceId?: string;
  parentRunId?: string;
  runType?: string;
  referenceExampleIds?: string[];
  executionOrder?: number;
  isRoot?: boolean;
  hasError?: boolean;
  threadId?: string;
  /** Only runs that have a thread. */
  hasThread?: boolean;
  /** Half-open window of start_time, microseconds. */
  startTime?: number;
  endTime?: number;
  /** Filter texts, checked with `parseFilter`: on the run, on the root of its trace, on any run of its trace. */
  filter?: string;
  traceFilter?: string;
  treeFilter?: string;
  /** Traces that match these two filters by a run in the partition of another day. */
  traceElsewhere?: string[];
  treeElsewhere?: string[];
}

export interface QueryRequest extends RunSelection {
  order: "asc" | "desc";
  /** Only runs behind this position in the requested order. */
  after: RunPosition | null;
  limit: number;
  maxBytes: number;
  /** Which payloads to give. */
  payloads: LargeField[];
}

/** What runs can be broken down by. `trace_model`: the models that any run of the trace has called. */
export const PROPERTIES = ["status", "name", "run_type", "model", "tag", "user", "feedback", "trace_model"] as const;

export interface SeriesRequest {
  /** The width of a bucket of time, microseconds. */
  interval: number;
  /** The property to break the runs down by. */
  by?: (typeof PROPERTIES)[number] | undefined;
}

/** `batched`: within a tenth of a second, together with others. `shards`: how many the caller has read; 1 when it is left out. */
export interface Upserting {
  batched?: boolean;
  shards?: number;
}

/** What a shard answers to a write. */
export interface Upserted {
  /** How many shards the day has, as far as this one knows. */
  shards: number;
  /** The ids of the runs that were not written, because their traces belong in another shard. */
  left: string[];
}

/** The methods of the TracePartition Durable Object that other nouns call. */
export interface TracePartitionRpc {
  /** Merges runs, durably before it returns. At most 16 MB a call (`weighWrite`). */
  upsert(identity: PartitionIdentity, writes: RunWrite[], how?: Upserting): Promise<Upserted>;
  /**
   * Which of these ids are of runs or traces in this shard. After this call the shard takes no run of another trace: it
   * knows that the day has grown to `shards`. `traces`: those of the ids that are of traces.
   * With `EARLY` before them: the ids of feedback on these runs that came before they did, and are not here.
   */
  holds(identity: PartitionIdentity, shards: number, ids: string[], traces: string[]): Promise<string[]>;
  /** Which of these runs are in this partition, which of these traces have one, and which runs and traces were deleted here. */
  lookUp(ids: string[]): Promise<Record<"held" | "traces" | "deleted", string[]>>;
  /** The ids of runs, their traces and their parents, page by page: `after` is 0 or the previous page's `next`. */
  listIds(after: number, limit: number): Promise<{ ids: string[]; next: number | null }>;
  query(request: QueryRequest): Promise<{ runs: QueriedRun[]; done: boolean }>;
  rank(request: RunSelection & RankRequest): Promise<RankedRun[]>;
  /** The runs of a trace that are here, each after its parent. */
  tree(traceId: string, limit: number): Promise<TraceTreeRun[]>;
  /** The traces with runs here whose root began on an earlier day. */
  crossing(): Promise<string[]>;
  /** Which of these traces have a run here that passes the filter; `root`: whose root does. */
  tracesPassing(traces: string[], test: { filter: string; root: boolean }): Promise<string[]>;
  stats(selection: RunSelection): Promise<PartitionStats>;
  series(selection: RunSelection, request: SeriesRequest): Promise<PartitionSeries>;
  threads(selection: RunSelection): Promise<ThreadSummary[]>;
  threadStats(selection: RunSelection): Promise<ThreadStats>;
  /** Of this server's own runs of graphs among them. */
  runTimes(): Promise<RunTimes>;
  /** Ids of the direct children and of all descendants of a run, in tree order. */
  children(id: string): Promise<{ direct: string[]; all: string[] }>;
  /** Undefined when `asRead` is given and is not the time of the last change of what is stored. 404 on a deleted trace. */
  putFeedback(
    identity: PartitionIdentity,
    feedback: StoredFeedback,
    asRead?: string,
  ): Promise<StoredFeedback | undefined>;
  /** Stores feedback of another shard, unless it is here with a later change. False when its run was deleted here. */
  takeFeedback(identity: PartitionIdentity, feedback: StoredFeedback): Promise<boolean>;
  /** Removes feedback that another shard has taken, unless it has changed since it was read. */
  handOver(feedback: StoredFeedback): Promise<void>;
  getFeedback(ids: string[]): Promise<StoredFeedback[]>;
  deleteFeedback(id: string): Promise<boolean>;
  /** The traces that have a run of one of these threads here. */
  tracesOf(threadIds: string[]): Promise<string[]>;
  /** A page of the traces that have runs here, from the run with the number `after` on. A trace can be in several pages. */
  traceIds(after: number): Promise<TraceIds>;
  /** Keeps traces as long as those of a `longlived` project, when that is longer than their project's time. */
  keepTraces(traceIds: string[]): Promise<void>;
  /** Which of these traces are kept so. */
  keptAmong(traceIds: string[]): Promise<string[]>;
  /** Deletes traces with their feedback and their objects in R2. Gives the number of deleted runs. */
  deleteTraces(traceIds: string[]): Promise<number>;
  /** Stores the project's tier, and soon deletes everything if its retention is over. */
  checkExpiry(traceTier: TraceTier): Promise<void>;
  /** Deletes everything, in R2 and D1 too. */
  destroy(identity: Omit<PartitionIdentity, "traceTier">): Promise<void>;
  /** One page of runs in the order (start_time, id); undefined when nothing was ever written. */
  readPage(request: PageRequest): Promise<RunPage | undefined>;
  /** How many runs of the window have changed since a change. */
  countChanged(request: ChangedRequest): Promise<number>;
  /** Gives runs to a rule: each once, unless it is not settled in time. Undefined when nothing was ever written. */
  takeForRule(request: TakeRequest): Promise<RuleBatch | undefined>;
  listForRule(request: RuleRunsRequest): Promise<RuleRunState[]>;
  settleForRule(rule: string, settled: RuleOutcome[]): Promise<RuleCounts | undefined>;
}
