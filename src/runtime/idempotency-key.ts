/**
 * Gives each task of a graph a key for its side effects, in `config.configurable.idempotency_key`: the same at every
 * attempt of the task, a different one for every other task.
 *
 * LangGraph's task id derives from the id of the checkpoint that the task starts from. An attempt that repeats a step
 * writes its checkpoint under a new id, and a nested graph may store no checkpoint, so the task id changes. The key
 * derives from what stays: the origin of the checkpoint (see `keysFrom`), the step, and the task's path in its graph. In
 * a nested graph, the key of the task around it takes the place of the origin.
 */
import "./install.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { uuid5 } from "@langchain/langgraph-checkpoint";

type Invoke = (input: unknown, config: RunnableConfig) => unknown;
type TaskCall = (task: (...args: unknown[]) => unknown, ...rest: unknown[]) => unknown;

/** The config of a task, as LangGraph makes it. */
interface TaskConfig extends RunnableConfig {
  configurable: {
    idempotency_key?: string;
    checkpoint_ns: string;
    checkpoint_map: Record<string, string>;
    /** Counts the functional tasks and the graphs that the task calls. A retry continues the count. */
    __pregel_scratchpad?: { callCounter: number; subgraphCounter: number };
    /** Runs a function of the functional API as a task. */
    __pregel_call?: TaskCall;
    [PARENT]?: Parent;
    [AROUND]?: TaskWrapper;
  };
  metadata: { langgraph_step: number; langgraph_path: unknown[] };
}

/** The part of a task's key that comes from outside its graph: the origin of the run's tasks, or the task around it. */
type Parent = (task: TaskConfig) => unknown;

/** Every config below inherits it. A name with two underscores stays out of metadata, traces and debug events. */
const PARENT = "__weir_parent";

/** What a run does around each of its tasks. */
const AROUND = "__weir_around";
export type TaskWrapper = (namespace: string, work: () => unknown) => unknown;

const NAMESPACE = "5ffb9a3f-7c0e-5ac8-9d1c-2e8e0f5b7a64";
const deriveKey = (...parts: unknown[]): string => uuid5(JSON.stringify(parts), NAMESPACE);

/** Marks a prototype of nodes, so that a second load of this module does not patch it again. */
const PATCHED = Symbol.for("weir.idempotency_key");

/** The prototype of LangGraph's nodes. */
interface NodeType {
  [PATCHED]?: true;
  getNode: (this: NodeType) => { invoke: Invoke } | undefined;
}

/**
 * Adds the key to the config of each task, in this graph and in every graph of the same copy of LangGraph, however deep.
 * LangGraph has no hook for the config of a task. It calls `getNode` once for each task and runs what that returns.
 */
export function keyTasks(graph: { nodes: Record<string, object> }): void {
  for (const node of Object.values(graph.nodes)) {
    const type = Object.getPrototypeOf(node) as NodeType;
    if (type[PATCHED]) continue;
    type[PATCHED] = true;
    const { getNode } = type;
    type.getNode = function keyedNode() {
      const runnable = getNode.call(this);
      // LangGraph also looks for a nested graph in the runnable, so only `invoke` differs.
      const invoke: Invoke = (input, config) => {
        const work = () => runnable?.invoke(input, addKey(config as TaskConfig));
        const { checkpoint_ns: ns, [AROUND]: around } = (config as TaskConfig).configurable;
        return around ? around(ns, work) : work();
      };
      return runnable && (Object.create(runnable, { invoke: { value: invoke } }) as typeof runnable);
    };
  }
}

/**
 * The part of a run's `configurable` that the keys of its tasks derive from. `origin` names a checkpoint of the root graph:
 * the name is the same when an attempt writes the checkpoint of a step again, and name and step together are unique.
 * A client's own `idempotency_key` is dropped. `around`: called in place of each task, which it runs.
 */
export function keysFrom(origin: (checkpointId: string) => string, around?: TaskWrapper): Record<string, unknown> {
  const parent: Parent = ({ configurable }) => origin(configurable.checkpoint_map[""] ?? "");
  return { idempotency_key: undefined, [PARENT]: parent, [AROUND]: around };
}

function addKey(config: TaskConfig): TaskConfig {
  const parent = config.configurable[PARENT];
  if (!parent) return config;
  const { langgraph_step: step, langgraph_path: path } = config.metadata;
  return withKey(config, deriveKey(parent(config), step, path, ...failedTask(config)));
}

/** The error handlers of several tasks of one node have the same path. Their namespace contains the failed task. */
function failedTask({ configurable, metadata }: TaskConfig): unknown[] {
  return metadata.langgraph_path[3] === false ? configurable.checkpoint_ns.split("|").slice(-2, -1) : [];
}

function withKey(config: TaskConfig, key: string): TaskConfig {
  const { configurable } = config;
  const { checkpoint_ns: ns, __pregel_call: call, __pregel_scratchpad: scratchpad } = configurable;
  const { callCounter = 0, subgraphCounter = 0 } = scratchpad ?? {};
  const parent: Parent = (task) => [key, graphNumber(task, ns) - subgraphCounter];
  const calls: TaskCall | undefined =
    call && ((task, ...rest) => call((...args) => inTask(() => task(...args), key, callCounter), ...rest));
  return {
    ...config,
    configurable: { ...configurable, idempotency_key: key, [PARENT]: parent, __pregel_call: calls },
  };
}

/** The number of the nested task's graph among the graphs that the task in `ns` called, counted from 0 by LangGraph. */
function graphNumber({ configurable }: TaskConfig, ns: string): number {
  return Number(/^\|(\d+)\|/.exec(configurable.checkpoint_ns.slice(ns.length))?.[1] ?? 0);
}

/**
 * Runs a function of the functional API as a task of the task with the key `caller`. The function finds its config in the
 * async context. `first` is the number of the first call in this attempt of the caller.
 */
function inTask(task: () => unknown, caller: string, first: number): unknown {
  const config = AsyncLocalStorageProviderSingleton.getRunnableConfig() as TaskConfig;
  const call = Number(config.metadata.langgraph_path[2]);
  const key = deriveKey(caller, call - first);
  return AsyncLocalStorageProviderSingleton.runWithConfig(withKey(config, key), task);
}
