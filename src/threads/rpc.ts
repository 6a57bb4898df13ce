/** What the rest of Weir may ask of a thread: the Durable Object's RPC type. */
import type { RunBudget } from "../limits/budgets/rpc.ts";
import type { Json } from "../lib/json.ts";
import type { OwnWebhook } from "../deliveries/receiver.ts";
import type { WireCommand } from "../runtime/drive.ts";
import type {
  Actor,
  LinkRpc,
  CancelAction,
  CheckpointAddress,
  MultitaskStrategy,
  OpenRun,
  WaitingThread,
  Run,
  RunStatus,
  ThreadSummary,
  StorageFigures,
  TaskView,
  Thread,
  ThreadState,
  Ttl,
} from "./types.ts";
import type { ThreadRecord } from "./record.ts";
import type { CopiedRow, CopyCursor } from "./store/copy.ts";
import type { TailQuery } from "./log/events.ts";

/** A run to make. Everything has been validated; the assistant has been resolved. */
export interface RunRequest {
  /** A new UUID of the caller's: asking twice with the same one makes one run, also when that run has been deleted. */
  run_id: string;
  /** The id is derived from one that the client has chosen, so that it may come again at any time. */
  chosen_id?: true;
  /** Of a command that a client may repeat when it lost the answer, and of who sends it: a run with the same one is not made twice at a time. */
  fingerprint?: string;
  /**
   * The interrupts that this run must resume: 409 when one of them no longer waits. Links, webhooks and protocols set it; a run of the
   * API says `strict_resume` instead.
   */
  must_resume?: string[];
  assistant_id: string;
  graph_id: string;
  /** A snapshot of the assistant, taken by threads/api/request.ts: merged under the thread's and the run's own. */
  assistant: { config: Json; context: Json; metadata: Json };
  input?: unknown;
  command?: WireCommand | null;
  /** What a protocol's client has sent, from which `input`, `command` and `checkpoint` are made when the run begins (runs/sent.ts). */
  sent?: SentRequest;
  config?: Json;
  context?: Json;
  metadata?: Json;
  checkpoint?: CheckpointAddress;
  stream_mode?: string[];
  stream_subgraphs?: boolean;
  stream_resumable?: boolean;
  interrupt_before?: "*" | string[];
  interrupt_after?: "*" | string[];
  /** Default "enqueue". */
  multitask_strategy?: MultitaskStrategy;
  /** A resume that answers an interrupt which does not wait fails, and runs nothing. */
  strict_resume?: boolean;
  /** "create" makes the thread when there is none; default "reject": 404. */
  if_not_exists?: "create" | "reject";
  after_seconds?: number;
  durability?: "sync" | "async" | "exit";
  on_disconnect?: "cancel" | "continue";
  webhook?: string;
  own_webhook?: OwnWebhook;
  /** The kinds of feedback that its end gives links for. */
  feedback_keys?: string[];
  /** The address of this server, for the links that its end gives: of feedback, and in the payload of its webhook. */
  origin?: string;
  langsmith_tracer?: { project_name?: string; example_id?: string };
  /** The depth of nested calls of this server to itself that led to this run. */
  depth?: number;
  /** The thread belongs to this run only and is deleted at the end of the run. */
  temporary?: boolean;
  /** Of a temporary thread: it is kept while interrupts wait, so that they can be answered. */
  keep_interrupts?: boolean;
  /** Of a temporary thread: it is not deleted before this time, so that a repeated request finds its run; milliseconds. */
  keep_until?: number;
  /** Request headers and the user, which the graph sees in `configurable`. */
  configurable?: Json;
  /** Rules of flow control limit it: it claims slots before it begins. */
  flow?: boolean;
  budgets?: RunBudget[];
  /** Who makes it, when it may answer a question. */
  actor?: Actor;
  /** The task it belongs to; the first run of one makes it, with these hooks (see `ThreadRpc.setHook`). */
  task?: { task_id: string; hooks?: Record<string, Json> };
}

export interface SentRequest {
  /** Which reader of the thread's object reads it. */
  protocol: string;
  /** Undefined once the run has begun. */
  body?: Json;
  /** What it asks for: a request that asks for the same while the run is open joins the run. */
  asks?: string;
}

export interface CreateThread {
  metadata: Json;
  ifExists: "raise" | "do_nothing";
  ttl?: Ttl;
  supersteps?: { updates: StateUpdate[] }[];
  /** An id of the request, when it may be repeated: the thread that it has made is its own. */
  request_id?: string;
}

export interface ThreadPatch {
  /** Merged into what is there. */
  metadata?: Json;
  ttl?: Ttl;
}

export interface StateUpdate {
  values?: unknown;
  command?: WireCommand | null;
  as_node?: string;
}

/** `update_id`: an id of the request, when it may be repeated. An update with the same one is made once. */
export type StateChange = StateUpdate & { update_id?: string };

export interface StateQuery {
  /** The latest when absent. */
  checkpoint?: CheckpointAddress;
  subgraphs?: boolean;
}

export interface HistoryQuery {
  limit: number;
  before?: string;
  metadata?: Json;
  checkpoint?: CheckpointAddress;
}

export interface RunsQuery {
  limit: number;
  offset: number;
  status?: RunStatus;
}

/** A run's events as classic SSE frames. */
export interface RunStream {
  /** The run's own when absent. */
  modes?: string[];
  /** Only these graphs' events: namespaces joined by `|`, the root is `""`. */
  namespaces?: string[];
  /**
   * Frames up to this sequence number are left out; from the run's beginning when absent, negative, or beyond the log's end,
   * where it belongs to a deleted log.
   */
  seen?: number;
  /** Without `seen`: events up to this checkpoint are left out. */
  checkpointId?: string;
}

/** A part of a thread's rows, for a copy of it. */
export interface CopyPage {
  /** Changes when the source writes anything or restarts. Pages of different versions may contradict each other. */
  version: string;
  thread: ThreadRecord;
  /** Runs in flight that answer questions. */
  answering?: string[];
  rows: CopiedRow[];
  next?: CopyCursor;
}

/** Open runs by their ids, else by their status. */
export interface OpenRuns {
  runIds?: string[];
  status?: "pending" | "running" | "all";
  /** Only those that were created before this time, milliseconds. */
  createdBefore?: number;
}

/**
 * A thread that does not exist answers reads with `undefined` and commands with a 404.
 * Errors arrive as `Problem:<status>:<detail>`; lib/problem.ts turns them back.
 */
export interface ThreadRpc extends LinkRpc {
  create(request: CreateThread): Promise<Thread>;
  /** The thread, with `values` null when they have more than `mostValues` characters of JSON. */
  get(mostValues?: number): Promise<Thread | undefined>;
  /** What decides how a new run begins, without the state's values. */
  summary(): Promise<ThreadSummary | undefined>;
  /** What the conversation is called: the beginning of the first thing a person said. */
  title(): Promise<string | undefined>;
  patch(change: ThreadPatch): Promise<Thread>;
  /**
   * Deletes the thread whole: runs, checkpoints, log. False when there was none; "kept" when its metadata do not contain `only`, by which
   * the index has found it.
   */
  remove(only?: Json): Promise<boolean | "kept">;
  /**
   * Deletes the thread; where interrupts wait, once none waits any longer, or they have expired. False while a run is open, also one
   * that waits to begin: then it stays.
   */
  removeIdle(): Promise<boolean>;
  /**
   * Makes this thread a copy of another one of the workspace, or changes nothing. `metadata` replaces the metadata of the
   * other thread. A thread that exists is only returned. `values` is null when the state is too long for one answer. 409 when the other thread does not
   * exist, or changes at every attempt.
   */
  copyFrom(threadId: string, metadata?: Json): Promise<Thread>;
  /** For `copyFrom`: a page of the thread's rows, from the beginning or from a page's `next`. */
  copyPage(from?: CopyCursor): Promise<CopyPage>;
  /** Deletes all but the latest checkpoint. */
  keepLatest(): Promise<boolean>;
  storage(): Promise<StorageFigures | undefined>;

  startRun(request: RunRequest): Promise<Run>;
  /** `startRun`, with the sequence number of the run's first event; of the log's last one when the run has to wait. */
  launch(request: RunRequest): Promise<{ run: Run; seq: number }>;
  /** `startRun` and `follow` of the run in one call; the run has the request's id. */
  startAndFollow(request: RunRequest, query: Omit<TailQuery, "after" | "runId">): Promise<ReadableStream<Uint8Array>>;
  /** `startRun` and `streamRun` in one call. */
  startAndStream(request: RunRequest, options: RunStream): Promise<ReadableStream<Uint8Array>>;
  /** SSE frames of a run, replayed, then live, to its end. 404 when there is no such run. */
  streamRun(runId: string, options: RunStream): Promise<ReadableStream<Uint8Array>>;
  /**
   * SSE frames of all runs, after a sequence number (from now on when absent). A number beyond the log's end belongs to a
   * deleted log: the stream then begins at the first event. The server does not end it.
   * `modes`: lifecycle, run_modes, state_update.
   */
  streamThread(modes: string[], after?: number): Promise<ReadableStream<Uint8Array>>;
  getRun(runId: string): Promise<Run | undefined>;
  listRuns(query: RunsQuery): Promise<Run[]>;
  /** At most `most` open runs without what they were given, in the order in which they run. */
  openRuns(most: number): Promise<OpenRun[]>;
  /**
   * With `wait` it resolves when the run has ended. Returns the status of a run that had ended before. 404 when there is no
   * such run.
   */
  cancel(runId: string, action: CancelAction, wait: boolean): Promise<RunStatus | undefined>;
  /** Cancels the open runs with one of these statuses, or with these ids. Returns how many. */
  cancelMany(which: OpenRuns, action: CancelAction): Promise<number>;
  deleteRun(runId: string): Promise<boolean>;
  /**
   * Resolves when the run has ended, with the body of `/wait` and `/join` as JSON (see `readJson`): values,
   * `__interrupt__` or `__error__`. 404 when there is no such run.
   */
  join(runId: string): Promise<ReadableStream<Uint8Array>>;

  /** The limiter grants the run its slots (see `Grant` in limits/flow/rpc.ts). False when it has ended, or there is none. */
  grant(runId: string, created: number, stopped: boolean): Promise<boolean>;

  task(taskId: string): Promise<TaskView | undefined>;
  /**
   * Sets a hook for the beginnings and ends of the task's runs. It also runs immediately for an idle task. `undefined`
   * removes the hook. 404 without the task, 409 past `most`.
   */
  setHook(taskId: string, id: string, hook: Json | undefined, most: number): Promise<void>;
  /** Cancels the task's open runs, or marks one that waits as cancelled. Resolves when they have ended. */
  cancelTask(taskId: string): Promise<void>;

  /** The log as lines of JSON (see `readEvents`): replayed, then live. A run id that is unknown: 404. */
  follow(query: TailQuery): Promise<ReadableStream<Uint8Array>>;
  /** The sequence number of the last event that readers see, or of a run that has ended; 0 when there is none. */
  lastSeq(runId?: string): Promise<number>;
  /** Whether the log has the event of this number. A token may be lost with the process that sent it. */
  hasEvent(seq: number): Promise<boolean>;
  /** Of a run: the sequence number of its first event; of one that has not begun, the number after the last event. */
  firstSeq(runId: string): Promise<number | undefined>;

  /** Where the thread stands in its graph; undefined when it has no graph yet. */
  waitingThread(): Promise<WaitingThread | undefined>;
  state(query: StateQuery): Promise<ThreadState | undefined>;
  /** Newest first, a state a line (see `readStates`): together they may be more than one call can give. */
  history(query: HistoryQuery): Promise<ReadableStream<Uint8Array>>;
  /** 409 while a run is open. `graphId` serves a thread that has no graph yet. */
  updateState(update: StateChange, checkpoint?: CheckpointAddress, graphId?: string): Promise<{ checkpoint: Json }>;
}
