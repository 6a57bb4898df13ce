/** Runs a graph, and passes all its output to a sink, synchronously and in order. */
import "./install.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { Command, isCommand, Send } from "@langchain/langgraph";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";
import { DispatchedEvents } from "./dispatched.ts";
import { type ExtensionSink, withExtensions } from "./extensions.ts";
import type { Graph } from "./graph.ts";
import { type Around, keysFrom, keyTasks } from "./idempotency-key.ts";
import { answer, asNewest, hasTasksMode } from "./older.ts";
import { batchOnDemand } from "./store-batches.ts";
import { Tap, type TapSink } from "./callbacks.ts";

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
  around?: Around;
  context?: unknown;
  metadata: Record<string, unknown>;
  tags?: string[];
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
const MOST_METADATA = 100;

const ALWAYS = ["values", "updates", "tasks"];

/** LangGraph's command of one that came over the wire. */
export function command({ update, resume, goto }: WireCommand): Command {
  const targets = goto == null ? [] : Array.isArray(goto) ? goto : [goto];
  return new Command({
    ...(update == null ? {} : { update: update as Record<string, unknown> }),
    ...(resume === undefined ? {} : { resume: answer(resume) }),
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
      metadata: Object.fromEntries(Object.entries(options.metadata).slice(-MOST_METADATA)),
      tags: options.tags,
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
