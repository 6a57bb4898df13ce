/** Reading and writing a thread's state through its graph, in the Agent Server's shapes. */
import type { Json } from "../lib/json.ts";
import "./install.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { readAddress, errorBody, toWireJson } from "./wire.ts";
import { bind, command, type WireCommand } from "./drive.ts";
import type { AnyGraph as Graph } from "./introspect.ts";
import { withId } from "./older-langgraph.ts";
import type { ListOneOptions, SavedCheckpoint, Saver } from "./saver.ts";

export interface SnapshotOptions {
  threadId: string;
  checkpointId?: string;
  checkpointNs?: string;
  subgraphs?: boolean;
}

/** One superstep of a thread's making: its updates are applied together. */
export interface SuperStep {
  values?: unknown;
  command?: WireCommand | null;
  as_node?: string;
}

/**
 * The state at a checkpoint (the latest when none is named), as LangGraph gives it. The latest is without what ended tasks of its step
 * have written, where that cannot be applied: two of them wrote a value that takes one, or a reducer throws.
 */
export async function readSnapshot(
  graph: Graph,
  saver: BaseCheckpointSaver,
  options: SnapshotOptions,
): Promise<StateSnapshot> {
  const { subgraphs, checkpointId } = options;
  const bound = bind(graph, saver);
  const config = toConfig(options);
  try {
    return await bound.getState(config, { subgraphs });
  } catch (error) {
    const latest = checkpointId === undefined ? await saver.getTuple(config) : undefined;
    if (!latest) throw error;
    // LangGraph applies no writes to a checkpoint that is named.
    return bound.getState(latest.config, { subgraphs });
  }
}

/** The same as wire JSON text. */
export async function readState(graph: Graph, saver: BaseCheckpointSaver, options: SnapshotOptions): Promise<string> {
  return toWireJson(threadState(await readSnapshot(graph, saver, options)));
}

/** The state at a checkpoint without what ended tasks of its step have written, as histories have it, as wire JSON text. */
export async function readPastState(graph: Graph, saver: Saver, saved: SavedCheckpoint): Promise<string> {
  return toWireJson(threadState(await snapshotOf(graph, saver, { only: saved })));
}

/** The values of a checkpoint alone, without anything that is written under it. */
export async function readValues(graph: Graph, saver: Saver, saved: SavedCheckpoint): Promise<Json> {
  return (await snapshotOf(graph, saver, { only: saved, bare: true })).values as Json;
}

async function snapshotOf(graph: Graph, saver: Saver, options: ListOneOptions): Promise<StateSnapshot> {
  const { ns, id } = options.only;
  for await (const snapshot of bind(graph, saver).getStateHistory(
    toConfig({ threadId: saver.threadId, checkpointNs: ns }),
    options,
  ))
    return snapshot;
  throw new Error(`The checkpoint ${id} is not stored.`);
}

/** Applies updates as nodes of the graph; gives the address of the new checkpoint. */
export async function writeState(
  graph: Graph,
  saver: BaseCheckpointSaver,
  options: SnapshotOptions,
  steps: { updates: SuperStep[] }[],
): Promise<Json> {
  const supersteps = steps.map(({ updates }) => ({
    updates: updates.map(({ values, command: given, as_node }) => ({
      values: given ? command(given) : (toUpdate(graph, values) as Json),
      asNode: as_node,
    })),
  }));
  const config = toConfig(options);
  const written = await bind(graph, saver).bulkUpdateState(config, supersteps);
  return readAddress(written) ?? {};
}

/**
 * The values as the graph's nodes return them. A list of updates is applied in order. LangGraph takes such a list only
 * from nodes of a `StateGraph` and only as commands. Where the state itself may be a list, the list is the value.
 */
function toUpdate(graph: Graph, values: unknown): unknown {
  const isUpdate = (one: unknown): one is Json => typeof one === "object" && one !== null && !Array.isArray(one);
  const isList = Array.isArray(values) && values.every(isUpdate);
  if (!isList || !("builder" in graph) || "__root__" in graph.channels) return values;
  return values.length === 0 ? null : values.map((update) => command({ update }));
}

function toConfig({ threadId, checkpointId, checkpointNs }: SnapshotOptions): RunnableConfig {
  return {
    configurable: {
      thread_id: threadId,
      checkpoint_ns: checkpointNs ?? "",
      ...(checkpointId !== undefined && { checkpoint_id: checkpointId }),
    },
  };
}

function threadState(state: StateSnapshot): Json {
  const tasks = state.tasks.map((task) => ({ ...task, interrupts: task.interrupts.map(withId) }));
  return {
    values: state.values as unknown,
    next: state.next,
    tasks: tasks.map((task) => ({
      id: task.id,
      name: task.name,
      path: task.path ?? null,
      error: task.error == null ? null : taskError(task.error),
      interrupts: task.interrupts,
      checkpoint: task.state && "configurable" in task.state ? taskAddress(task.state) : null,
      state: task.state && "values" in task.state ? threadState(task.state) : null,
      result: (task as { result?: unknown }).result ?? null,
    })),
    metadata: state.metadata ?? null,
    created_at: state.createdAt ?? null,
    checkpoint: readAddress(state.config),
    parent_checkpoint: readAddress(state.parentConfig),
    interrupts: tasks.flatMap((task) => task.interrupts),
  };
}

function taskError(error: unknown): string {
  const given = error as { message?: unknown };
  return typeof given.message === "string" ? given.message : errorBody(error).message;
}

/** A nested graph's checkpoint is named by its namespace only: which of its checkpoints counts depends on the parent's. */
function taskAddress({ configurable }: RunnableConfig): Json {
  const { thread_id, checkpoint_ns } = configurable as Json;
  return { thread_id, checkpoint_ns };
}
