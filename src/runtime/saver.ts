/** LangGraph's checkpointer over a thread's own storage. */
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  copyCheckpoint,
  type DeltaChannelHistory,
  ERROR,
  INTERRUPT,
  maxChannelVersion,
  type PendingWrite,
  RESUME,
  TASKS,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";

/** A checkpoint as the thread keeps it; channel values apart, because they are normalised. */
export interface SavedCheckpoint {
  ns: string;
  id: string;
  parentId?: string;
  checkpoint: Omit<Checkpoint, "channel_values">;
  metadata: CheckpointMetadata & Record<string, unknown>;
}

export interface SavedWrite {
  taskId: string;
  /** The write's place within its task; special channels (errors, interrupts, resumes) have fixed negative ones. */
  index: number;
  channel: string;
  value: unknown;
  /** The run that wrote it. A state update has none. */
  runId?: string | undefined;
  /** The task's path as LangGraph 1.5 and newer give it. Input and updates of the state have none. */
  path?: string | undefined;
}

/** The state that a checkpoint is put with. */
export interface PutState {
  values: Record<string, unknown>;
  /** The channels whose values differ from the parent's. */
  changed: string[];
  /** Metadata that many checkpoints share. */
  inherited: Record<string, unknown>;
}

/**
 * The thread's interface for the saver. Calls are synchronous: a node's writes are stored before the next node starts.
 */
export interface CheckpointStorage {
  get(ns: string, id?: string): SavedCheckpoint | undefined;
  /** Newest first. `before` is exclusive. */
  list(ns: string | undefined, options: { id?: string; before?: string; limit?: number }): Iterable<SavedCheckpoint>;
  /** The checkpoints from which one continues, nearest first. There are no circles. */
  ancestors(saved: SavedCheckpoint): Iterable<SavedCheckpoint>;
  hasValue(saved: SavedCheckpoint, channel: string): boolean;
  /** The values of these channels of a saved checkpoint, or of all, revived. */
  values(saved: SavedCheckpoint, channels?: readonly string[]): Promise<Record<string, unknown>>;
  /** All metadata, with the inherited ones. */
  metadata(saved: SavedCheckpoint): SavedCheckpoint["metadata"];
  /** In the order in which they were written last. */
  writes(ns: string, checkpointId: string): Promise<SavedWrite[]>;
  put(saved: SavedCheckpoint, state: PutState): void;
  putWrites(ns: string, checkpointId: string, writes: SavedWrite[]): void;
}

/** The task of an answer that names no question. */
export const NO_TASK = "00000000-0000-0000-0000-000000000000";

/** Metadata that LangGraph or Weir reads of a checkpoint, and that a thread, an assistant or a request cannot set. */
const RESERVED = new Set([
  "source",
  "step",
  "parents",
  "counters_since_delta_snapshot",
  "delta_writes_versioned",
  "migrated_from",
  "run_id",
  "run_attempt",
  "thread_id",
  "graph_id",
  "assistant_id",
  "graph_fingerprint",
  "graph_version",
]);

const withoutReserved = (metadata: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => !RESERVED.has(key)));

/** Metadata that name the run and the graph. LangGraph repeats those of the checkpoint before in some updates of a state. */
const NAMES = ["run_id", "thread_id", "graph_id", "assistant_id", "graph_fingerprint", "graph_version"];

interface SaverOptions {
  /** Metadata of the thread, the assistant and the request for every checkpoint. */
  inherited?: Record<string, unknown>;
  /** Aborted when the run is stopped. */
  stop?: AbortSignal;
  durability?: "sync" | "async" | "exit";
}

/** As LangGraph's `list` and `getStateHistory` take it, from `readPastState` and `readValues`. */
export interface ListOneOptions extends CheckpointListOptions {
  /** Lists this checkpoint alone. */
  only: SavedCheckpoint;
  /** Without what is written under it. */
  bare?: boolean;
}

export class Saver extends BaseCheckpointSaver {
  #failure: unknown;
  #isClosed = false;
  readonly #inherited: Record<string, unknown>;

  /** `names` goes into every checkpoint that is written through this saver: the ids of the run, the graph and so on. */
  constructor(
    private readonly storage: CheckpointStorage,
    readonly threadId: string,
    private readonly names: Record<string, unknown> = {},
    private readonly options: SaverOptions = {},
  ) {
    super();
    this.#inherited = withoutReserved(options.inherited ?? {});
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { ns, id } = address(config);
    const saved = this.storage.get(ns, id);
    return saved && this.#tuple(saved);
  }

  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { id } = address(config);
    const ns = config.configurable?.checkpoint_ns as string | undefined;
    if ("only" in options) {
      const { only, bare } = options as ListOneOptions;
      yield await this.#tuple(only, bare);
      return;
    }
    const before = options.before && address(options.before).id;
    const filter = Object.entries(options.filter ?? {});
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    for (const saved of this.storage.list(ns, { id, before, limit: filter.length ? undefined : options.limit })) {
      if (left <= 0) return;
      const metadata: Record<string, unknown> = filter.length > 0 ? this.storage.metadata(saved) : {};
      if (!filter.every(([key, value]) => JSON.stringify(metadata[key]) === JSON.stringify(value))) continue;
      left -= 1;
      yield await this.#tuple(saved);
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { ns, id: parentId } = address(config);
    if (this.#isLate(ns)) return this.#config(ns, checkpoint.id);
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const told = Object.fromEntries(Object.entries(metadata).filter(([key]) => !NAMES.includes(key)));
    const saved = {
      ns,
      id: checkpoint.id,
      parentId,
      checkpoint: rest,
      metadata: { ...(told as unknown as CheckpointMetadata), ...this.names },
    };
    try {
      this.storage.put(saved, { values, changed: Object.keys(newVersions ?? values), inherited: this.#inherited });
    } catch (error) {
      // LangGraph leaves the rejection of a put unhandled once a run has failed, so `check` throws it.
      this.#failure ??= error;
    }
    return this.#config(ns, checkpoint.id);
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    path?: string,
  ): Promise<void> {
    const { ns, id } = address(config);
    if (id === undefined) throw new Error("Writes belong to a checkpoint: checkpoint_id is missing.");
    if (this.#isLate(ns)) return;
    // What a task says that is stopped is no failure of it, and would take the place of its question.
    const told = this.options.stop?.aborted ? writes.filter(([channel]) => channel !== ERROR) : writes;
    const runId = this.#runId;
    const rows = told.map(([channel, value], i): SavedWrite => {
      return { taskId, index: WRITES_IDX_MAP[channel] ?? i, channel, value, runId, path };
    });
    const isUpdate = ({ channel }: SavedWrite) =>
      this.options.durability === "exit" && taskId === NO_TASK && channel !== RESUME;
    const updates = rows.filter(isUpdate);
    if (updates.length > 0) this.#updates.push({ ns, id, updates });
    if (rows.length > updates.length)
      this.storage.putWrites(
        ns,
        id,
        rows.filter((row) => !isUpdate(row)),
      );
  }

  /** Updates of commands of a run with the durability "exit", under the checkpoint that it ends with. */
  #updates: { ns: string; id: string; updates: SavedWrite[] }[] = [];

  /**
   * Stores the updates of commands as LangGraph stores results of a run with the durability "exit": under the checkpoint before, from which
   * channels without a value are replayed, and under a task of their own. It leaves updates under the checkpoint that contains them, and
   * applies them again when it reads that.
   */
  #storeUpdates(): void {
    for (const { ns, id, updates } of this.#updates) {
      const saved = this.storage.get(ns, id);
      if (!saved) continue;
      const replayed = updates.filter(({ channel }) => !this.storage.hasValue(saved, channel));
      const under = saved.parentId;
      const rows =
        under === undefined ? replayed : replayed.map((row) => ({ ...row, taskId: this.#runId ?? row.taskId }));
      if (rows.length > 0) this.storage.putWrites(ns, under ?? id, rows);
    }
  }

  /**
   * What these channels of a checkpoint are replayed from, by channel: LangGraph's walk, which reads no other channel. A write under a
   * checkpoint is a part of the next one where that has another version of the channel: else another branch has it, or none.
   */
  override async getDeltaChannelHistory({
    config,
    channels,
  }: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { ns, id } = address(config);
    const histories = new Map(channels.map((channel): [string, DeltaChannelHistory] => [channel, { writes: [] }]));
    let missing = [...new Set(channels)];
    let next = this.storage.get(ns, id);
    for (const saved of next ? this.storage.ancestors(next) : []) {
      if (missing.length === 0) break;
      const [values, writes] = await Promise.all([this.storage.values(saved, missing), this.#pendingWrites(saved)]);
      const versions = [saved, next].map((one) => one?.checkpoint.channel_versions ?? {});
      for (const channel of missing) {
        const history = histories.get(channel) as DeltaChannelHistory;
        const [here, then] = versions.map((all) => all[channel]);
        if (here === undefined || here !== then)
          history.writes.unshift(...writes.filter(([, written]) => written === channel));
        if (channel in values) history.seed = values[channel];
      }
      missing = missing.filter((channel) => !(channel in values));
      next = saved;
    }
    return Object.fromEntries(histories);
  }

  get #runId(): string | undefined {
    const { run_id: id } = this.names;
    return typeof id === "string" ? id : undefined;
  }

  /**
   * Whether it is an answer without a question's id that another run gave. LangGraph leaves it stored under no task, and would give
   * it to the next question of any run.
   */
  #isForeignAnswer({ taskId, channel, runId }: SavedWrite): boolean {
    return taskId === NO_TASK && channel === RESUME && runId !== this.#runId;
  }

  /** Stores nothing from here on: the run has ended. */
  close(): void {
    this.#storeUpdates();
    this.#isClosed = true;
  }

  /**
   * Whether a node writes that was not waited for: JavaScript cannot stop it, and a graph that it invokes goes on. The question that
   * the graph asked waits again by then.
   */
  #isLate(ns: string): boolean {
    return this.#isClosed || (ns !== "" && this.options.stop?.aborted === true);
  }

  /** Throws the error that prevented the storage of a checkpoint. Call it when the graph has ended. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  override async deleteThread(): Promise<void> {
    throw new Error("A thread is deleted by its owner, not through its checkpointer.");
  }

  async #tuple(saved: SavedCheckpoint, bare = false): Promise<CheckpointTuple> {
    const [values, pendingWrites] = await Promise.all([
      this.storage.values(saved),
      bare ? [] : this.#pendingWrites(saved),
    ]);
    const checkpoint = { ...structuredClone(saved.checkpoint), channel_values: values };
    if (checkpoint.v < 4 && saved.parentId !== undefined) await this.#addSends(checkpoint, saved.ns, saved.parentId);
    return {
      config: this.#config(saved.ns, saved.id),
      checkpoint,
      metadata: this.storage.metadata(saved),
      parentConfig: saved.parentId === undefined ? undefined : this.#config(saved.ns, saved.parentId),
      pendingWrites,
    };
  }

  async #pendingWrites(saved: SavedCheckpoint): Promise<CheckpointPendingWrite[]> {
    const writes = await this.storage.writes(saved.ns, saved.id);
    const isPast = this.storage.get(saved.ns)?.id !== saved.id;
    return keepCurrent(writes, isPast)
      .filter((write) => !this.#isForeignAnswer(write))
      .sort(compareWrites)
      .map(({ taskId, channel, value }): CheckpointPendingWrite => [taskId, channel, value]);
  }

  /** LangGraph before 1.0 (checkpoints below version 4) keeps what was sent for the next step as writes of the parent. */
  async #addSends({ channel_values, channel_versions }: Checkpoint, ns: string, parentId: string): Promise<void> {
    const writes = await this.storage.writes(ns, parentId);
    channel_values[TASKS] = writes.filter(({ channel }) => channel === TASKS).map(({ value }) => value);
    const versions = Object.values(channel_versions);
    channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  #config(ns: string, id: string): RunnableConfig {
    return { configurable: { thread_id: this.threadId, checkpoint_ns: ns, checkpoint_id: id } };
  }
}

/** With a failure LangGraph writes which node failed, for its error handler. Its place is that of a result. */
const ERROR_SOURCE = "__error_source_node__";

/** Whether it is a result of its task. Questions, answers and errors have negative places. */
export const isOutput = ({ index, channel }: SavedWrite): boolean => index >= 0 && channel !== ERROR_SOURCE;

/**
 * Without the questions and failures that their tasks have left behind. LangGraph keeps them until the step ends, and then
 * shows a question as open that was answered while others of the same step wait. `isPast`: the step has ended, and its questions are shown
 * as what was asked there.
 */
export function keepCurrent(writes: SavedWrite[], isPast = false): SavedWrite[] {
  const outcomes = [ERROR, INTERRUPT];
  const last = new Map<string, string>();
  for (const write of writes) {
    if (isOutput(write) || outcomes.includes(write.channel)) last.set(write.taskId, write.channel);
  }
  const isShown = (channel: string) => !outcomes.includes(channel) || (isPast && channel === INTERRUPT);
  return writes.filter(({ taskId, channel }) => isShown(channel) || last.get(taskId) === channel);
}

/**
 * The order in which LangGraph applies the writes of a step: by path, task and index. It replays the writes of a `DeltaChannel` in
 * the order in which it gets them.
 */
function compareWrites(a: SavedWrite, b: SavedWrite): number {
  return comparePoints(a.path ?? "", b.path ?? "") || comparePoints(a.taskId, b.taskId) || a.index - b.index;
}

/** By code points, as Python compares: `<` compares UTF-16, in which U+FFFD comes after U+1F600. */
function comparePoints(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

function address(config: RunnableConfig): { ns: string; id?: string } {
  const { checkpoint_ns: ns, checkpoint_id: id } = (config.configurable ?? {}) as Record<string, string | undefined>;
  return { ns: ns ?? "", id: id || undefined };
}
