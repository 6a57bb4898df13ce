/** Runs a graph, and passes all its output to a sink, synchronously and in order. */
import "./install.ts";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AsyncBatchedStore, type BaseCheckpointSaver, type BaseStore } from "@langchain/langgraph-checkpoint";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { Command, isCommand, Send } from "@langchain/langgraph";
import { type ExtensionSink, withExtensions } from "./extensions.ts";
import type { AnyGraph as Graph } from "./introspect.ts";
import { type TaskWrapper, keysFrom, keyTasks } from "./idempotency-key.ts";
import { toResumeValue, asNewest, hasTasksMode } from "./older-langgraph.ts";
import { Tap, type TapSink } from "./callbacks.ts";

// Events that a graph emits with LangChain's `dispatchCustomEvent`.

/** Passes each on as LangChain's `on_custom_event`. The mode `events` of LangGraph has them among its others. */
export class DispatchedEvents extends BaseCallbackHandler {
  name = "WeirDispatchedEvents";
  override awaitHandlers = true;

  constructor(private readonly emit: (event: unknown) => void) {
    super();
  }

  override handleCustomEvent(
    name: string,
    data: unknown,
    runId: string,
    tags: string[] = [],
    metadata: Record<string, unknown> = {},
  ): void {
    if (tags.includes("langsmith:hidden")) return;
    this.emit({ event: "on_custom_event", name, data, run_id: runId, tags, metadata });
  }
}

// LangGraph's store: its calls are batched when there are some.

/** Marks the prototype, so that a second load of this module does not patch it again. */
const PATCHED = Symbol.for("weir.store_batches");

/** What LangGraph keeps private in its store. */
interface BatchedStore {
  [PATCHED]?: true;
  running: boolean;
  queue: Map<number, unknown>;
  processingTask: Promise<void> | null;
  enqueueOperation: (this: BatchedStore, operation: unknown) => Promise<unknown>;
  processBatchQueue: (this: BatchedStore) => Promise<void>;
  stop: (this: BatchedStore) => Promise<void>;
}

/**
 * Batches the calls of LangGraph's store on demand. LangGraph looks for calls in a loop of `setTimeout(0)` that lasts as long as
 * the graph, and each nested graph has another: a run that waits for its model takes CPU from all others in its isolate.
 */
export function batchOnDemand(): void {
  const type = AsyncBatchedStore.prototype as unknown as BatchedStore;
  const { enqueueOperation, processBatchQueue, stop } = type;
  if (type[PATCHED] || !enqueueOperation || !processBatchQueue) return;
  type[PATCHED] = true;
  type.processBatchQueue = function processOnce() {
    return this.queue.size > 0 ? processBatchQueue.call(runningOnce(this)) : Promise.resolve();
  };
  type.enqueueOperation = function enqueueOnDemand(operation) {
    const answer = enqueueOperation.call(this, operation);
    // A batch waits for the one before it, and `stop` for the last. After `stop` nothing is written.
    if (this.running && this.queue.size === 1)
      this.processingTask = Promise.resolve(this.processingTask).then(() => this.processBatchQueue());
    return answer;
  };
  type.stop = async function stopInLaterTurn() {
    await stop.call(this);
    // LangGraph's loop ends in a later turn of the event loop: a graph reports its end to its callbacks after the stream has failed.
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
}

/** The store as the loop sees it: it runs for one turn. */
function runningOnce(store: BatchedStore): BatchedStore {
  let turns = 1;
  return Object.create(store, { running: { get: () => turns-- > 0 } }) as BatchedStore;
}

export interface DriveSink extends TapSink, ExtensionSink {
  /** A chunk of LangGraph's own modes: values, updates, tasks, debug, custom, and the light `checkpoints` envelope. */
  chunk(namespace: string[], mode: string, payload: unknown): void;
  /** A LangChain event: each, when the run requests the `events` mode, else only those that the graph dispatches itself. */
  event(event: unknown): void;
}

export interface DriveOptions {
  runId: string;
  configurable: Record<string, unknown>;
  /** Names a checkpoint of the root graph, the same name at every attempt. See idempotency-key.ts. */
  origin: (checkpointId: string) => string;
  /** What is done around each task. */
  around?: TaskWrapper;
  context?: unknown;
  metadata: Record<string, unknown>;
  /** An absent one of these is what the graph is bound to, or LangGraph's default. */
  tags?: string[];
  runName?: string;
  maxConcurrency?: number;
  recursionLimit?: number;
  interruptBefore?: "*" | string[];
  interruptAfter?: "*" | string[];
  durability?: "sync" | "async" | "exit";
  signal: AbortSignal;
  checkpointer?: BaseCheckpointSaver;
  store?: BaseStore;
  callbacks?: RunnableConfig["callbacks"];
  /** The modes whose chunks cost extra and are wanted: debug, events. */
  debug: boolean;
  events: boolean;
}

batchOnDemand();

/** A command as it comes over the wire. `goto` is a node's name, a Send (`{node, input}`), or a list of either. */
export interface WireCommand {
  update?: unknown;
  resume?: unknown;
  goto?: unknown;
}

/**
 * LangChain copies metadata member by member for each call of each node: thousands of them would block all requests in
 * this isolate for minutes. So it gets the last ones, up to this number. Listeners here get them all.
 */
const MAX_METADATA = 100;

const ALWAYS = ["values", "updates", "tasks"];

/** The command; undefined for one without effect, which LangGraph refuses. The Python SDK sends `{}` for a `resume` of None. */
export function commandWithEffect(given: WireCommand | null | undefined): WireCommand | undefined {
  const isEmpty = (value: unknown) => value == null || (typeof value === "object" && Object.keys(value).length === 0);
  return !given || (given.resume == null && isEmpty(given.update) && isEmpty(given.goto)) ? undefined : given;
}

/** LangGraph's command of one that came over the wire. */
export function command({ update, resume, goto }: WireCommand): Command {
  const targets = goto == null ? [] : Array.isArray(goto) ? goto : [goto];
  return new Command({
    ...(update == null ? {} : { update: update as Record<string, unknown> }),
    ...(resume === undefined ? {} : { resume: toResumeValue(resume) }),
    ...(targets.length === 0 ? {} : { goto: targets.map(target) }),
  });
}

function target(to: unknown): string | Send {
  return typeof to === "string" ? to : new Send((to as { node: string }).node, (to as { input?: unknown }).input ?? {});
}

/** A copy of the graph that belongs to one run: its checkpointer and store are its own. */
export function bind(graph: Graph, checkpointer?: BaseCheckpointSaver, store?: BaseStore): Graph {
  const bound = graph.withConfig({});
  bound.checkpointer = checkpointer;
  if (store) bound.store = store;
  return bound;
}

/** Resolves when the graph ended or paused; rejects with what a node or a transformer threw, or the signal's reason. */
export async function drive(graph: Graph, input: unknown, options: DriveOptions, sink: DriveSink): Promise<void> {
  await withExtensions(graph, sink, (shown) => stream(graph, input, options, shown));
}

async function stream(graph: Graph, input: unknown, options: DriveOptions, sink: DriveSink): Promise<void> {
  const modes = [...ALWAYS, ...(options.debug || !hasTasksMode ? ["debug"] : [])];
  const chunk = asNewest((...emitted) => sink.chunk(...emitted), options.debug);
  const push = (emitted: [string[], string, unknown]) => chunk(...emitted);
  const config = {
    runId: options.runId,
    configurable: {
      ...options.configurable,
      ...keysFrom(options.origin, options.around),
      // A stream handed down by a parent is written to at once, where the graph's own one is read with a lag.
      __pregel_stream: { modes: new Set(modes), push },
    },
    writer: (payload: unknown) => push([writerNamespace(), "custom", payload]),
    callbacks: [
      new Tap(sink, options.metadata),
      ...(options.events ? [] : [new DispatchedEvents((event) => sink.event(event))]),
      ...((options.callbacks as []) ?? []),
    ],
    ...dropUndefined({
      context: options.context,
      metadata: Object.fromEntries(Object.entries(options.metadata).slice(-MAX_METADATA)),
      tags: options.tags,
      runName: options.runName,
      maxConcurrency: options.maxConcurrency,
      recursionLimit: options.recursionLimit,
      interruptBefore: options.interruptBefore,
      interruptAfter: options.interruptAfter,
      durability: options.durability,
    }),
    signal: options.signal,
    streamMode: ["values"] as ["values"],
  };
  keyTasks(graph);
  const bound = bind(graph, options.checkpointer, options.store);
  const given = isCommand(input) ? input : (input ?? null);
  if (!options.events) {
    const chunks = (await (bound.stream(given, config as never) as unknown)) as AsyncIterable<unknown>;
    for await (const _chunk of chunks) options.signal.throwIfAborted();
    return;
  }
  const events = bound.streamEvents(given, { ...config, version: "v2" } as never) as unknown as AsyncIterable<{
    event?: string;
    run_id?: string;
    tags?: string[];
  }>;
  for await (const event of events) {
    // The chunks of the graph itself are those of the other modes.
    const isOwnChunk = event.event === "on_chain_stream" && event.run_id === options.runId;
    if (!isOwnChunk && !event.tags?.includes("langsmith:hidden")) sink.event(event);
  }
}

function writerNamespace(): string[] {
  const namespace = AsyncLocalStorageProviderSingleton.getRunnableConfig()?.configurable?.checkpoint_ns as
    | string
    | undefined;
  return namespace ? namespace.split("|").slice(0, -1) : [];
}

function dropUndefined<T extends Record<string, unknown>>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
