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

/**
 * The thread's interface for the saver. Calls are synchronous: a node's writes are stored before the next node starts.
 */
export interface CheckpointStorage {
  get(ns: string, id?: string): SavedCheckpoint | undefined;
  /** Newest first. `before` is exclusive. */
  list(ns: string | undefined, options: { id?: string; before?: string; limit?: number }): Iterable<SavedCheckpoint>;
  /** The channel values of a saved checkpoint, revived. */
  values(saved: SavedCheckpoint): Promise<Record<string, unknown>>;
  /** In the order in which they were written last. */
  writes(ns: string, checkpointId: string): Promise<SavedWrite[]>;
  /** `changed` are the channels whose values differ from the parent's. */
  put(saved: SavedCheckpoint, values: Record<string, unknown>, changed: string[]): void;
  putWrites(ns: string, checkpointId: string, writes: SavedWrite[]): void;
}

/** The task of an answer that names no question. */
export const NO_TASK = "00000000-0000-0000-0000-000000000000";

export class Saver extends BaseCheckpointSaver {
  #failure: unknown;
  #isClosed = false;

  /**
   * `metadata` goes into every checkpoint written through this saver: the run's id, assistant and so on. `stop` is aborted when the
   * run is stopped.
   */
  constructor(
    private readonly storage: CheckpointStorage,
    private readonly threadId: string,
    private readonly metadata: Record<string, unknown> = {},
    private readonly stop?: AbortSignal,
  ) {
    super();
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { ns, id } = address(config);
    const saved = this.storage.get(ns, id);
    return saved && this.#tuple(saved);
  }

  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { id } = address(config);
    const ns = config.configurable?.checkpoint_ns as string | undefined;
    const before = options.before && address(options.before).id;
    const filter = Object.entries(options.filter ?? {});
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    for (const saved of this.storage.list(ns, { id, before, limit: filter.length ? undefined : options.limit })) {
      if (left <= 0) return;
      if (!filter.every(([key, value]) => JSON.stringify(saved.metadata[key]) === JSON.stringify(value))) continue;
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
    const saved = { ns, id: checkpoint.id, parentId, checkpoint: rest, metadata: { ...this.metadata, ...metadata } };
    try {
      this.storage.put(saved, values, Object.keys(newVersions ?? values));
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
    const told = this.stop?.aborted ? writes.filter(([channel]) => channel !== ERROR) : writes;
    if (told.length === 0) return;
    const runId = this.#runId;
    const rows = told.map(([channel, value], i): SavedWrite => {
      return { taskId, index: WRITES_IDX_MAP[channel] ?? i, channel, value, runId, path };
    });
    this.storage.putWrites(ns, id, rows);
  }

  get #runId(): string | undefined {
    const { run_id: id } = this.metadata;
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
    this.#isClosed = true;
  }

  /**
   * Whether a node writes that was not waited for: JavaScript cannot stop it, and a graph that it invokes goes on. The question that
   * the graph asked waits again by then.
   */
  #isLate(ns: string): boolean {
    return this.#isClosed || (ns !== "" && this.stop?.aborted === true);
  }

  /** Throws the error that prevented the storage of a checkpoint. Call it when the graph has ended. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  override async deleteThread(): Promise<void> {
    throw new Error("A thread is deleted by its owner, not through its checkpointer.");
  }

  async #tuple(saved: SavedCheckpoint): Promise<CheckpointTuple> {
    const [values, writes] = await Promise.all([this.storage.values(saved), this.storage.writes(saved.ns, saved.id)]);
    const checkpoint = { ...structuredClone(saved.checkpoint), channel_values: values };
    if (checkpoint.v < 4 && saved.parentId !== undefined) await this.#addSends(checkpoint, saved.ns, saved.parentId);
    return {
      config: this.#config(saved.ns, saved.id),
      checkpoint,
      metadata: { ...saved.metadata },
      parentConfig: saved.parentId === undefined ? undefined : this.#config(saved.ns, saved.parentId),
      pendingWrites: keepCurrent(writes)
        .filter((write) => !this.#isForeignAnswer(write))
        .sort(compareWrites)
        .map(({ taskId, channel, value }): CheckpointPendingWrite => [taskId, channel, value]),
    };
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
 * shows a question as open that was answered while others of the same step wait.
 */
export function keepCurrent(writes: SavedWrite[]): SavedWrite[] {
  const outcomes = [ERROR, INTERRUPT];
  const last = new Map<string, string>();
  for (const write of writes) {
    if (isOutput(write) || outcomes.includes(write.channel)) last.set(write.taskId, write.channel);
  }
  return writes.filter(({ taskId, channel }) => !outcomes.includes(channel) || last.get(taskId) === channel);
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
