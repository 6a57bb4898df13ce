/** The thread's state, history and updates, through the graph that made them. */
import { logError } from "../../lib/log.ts";
import { remoteProblem } from "../../lib/problem.ts";
import type { AnyGraph as Graph } from "../../runtime/introspect.ts";
import { readPastState, readSnapshot, readState, writeState } from "../../runtime/state.ts";
import { graphAt, graphIdAt, saver } from "./graph.ts";
import { describeWriter, missingNodes, migrateOnce, namesLatest } from "./migrate.ts";
import type { ThreadContext } from "../context.ts";
import { restartTtl, type ThreadRecord } from "../record.ts";
import type { Json } from "../../lib/json.ts";
import type { ValueRefs } from "../log/values.ts";
import type { HistoryQuery, StateQuery, StateUpdate } from "../rpc.ts";
import type { CheckpointAddress, Interrupts, ThreadState } from "../types.ts";
import { listInterrupts, uniqueById } from "../interrupts/waiting.ts";

const EMPTY: ThreadState = {
  values: {},
  next: [],
  tasks: [],
  metadata: null,
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
};

/** The state at a checkpoint; an empty one while the thread has no graph. */
export async function loadState(context: ThreadContext, { checkpoint, subgraphs }: StateQuery): Promise<ThreadState> {
  const checkpointId = readCheckpointId(checkpoint);
  const ns = checkpoint?.checkpoint_ns ?? "";
  const saved = context.checkpoints.get(ns, checkpointId);
  const graph = await graphAt(context, "threads.read", saved);
  if (!graph) return EMPTY;
  if (checkpointId !== undefined && !saved) throw remoteProblem(404, "Checkpoint not found on this thread.");
  const options = { threadId: context.threadId, checkpointId, checkpointNs: ns, subgraphs };
  const state = JSON.parse(await readState(graph, saver(context), options)) as ThreadState;
  if (ns !== "") return state;
  const graphId = graphIdAt(context, saved) ?? "";
  const place = { checkpoints: context.checkpoints, threadId: context.threadId, graphId, checkpointId };
  return withQuestions(context, withGone(context, state, await missingNodes(graph, place)));
}

/** The state as clients read it. One that reads a thread at work must not take it for one at rest, and look away. */
export async function readShownState(context: ThreadContext, busy: boolean, query: StateQuery): Promise<ThreadState> {
  const state = await loadState(context, query);
  return busy && !query.checkpoint && state.next.length === 0 ? { ...state, next: ["__start__"] } : state;
}

/**
 * The state with the nodes that wait and that the deployed graph no longer has. LangGraph leaves them out, so that a thread
 * which waits for an answer would seem to be at its end.
 */
function withGone({ checkpoints }: ThreadContext, state: ThreadState, gone: string[]): ThreadState {
  if (gone.length === 0) return state;
  const known = new Set(state.tasks.map(({ id }) => id));
  const questions = Object.entries(checkpoints.interrupts(state.checkpoint?.checkpoint_id as string));
  const asking = questions.filter(([id]) => !known.has(id));
  const tasks = asking.map(([id, interrupts], i): Json => {
    const name = asking.length === gone.length ? gone[i] : gone.join(", ");
    return { id, name, path: null, error: null, interrupts, checkpoint: null, state: null, result: null };
  });
  const interrupts = [...state.interrupts, ...asking.flatMap(([, asked]) => asked)];
  return { ...state, next: [...state.next, ...gone], tasks: [...state.tasks, ...tasks], interrupts };
}

/** Whether the graph has stopped between two steps and can continue. False when its state cannot be read. */
export async function hasNextStep(context: ThreadContext): Promise<boolean> {
  try {
    return (await loadState(context, {})).next.length > 0;
  } catch (error) {
    logError(error, { thread: context.threadId, while: "reading where it was stopped" });
    return false;
  }
}

/**
 * The state with all questions that wait, of which LangGraph shows one a task. It leaves a task that has answered one
 * question and asks another out of `next`.
 */
function withQuestions({ checkpoints }: ThreadContext, state: ThreadState): ThreadState {
  const id = state.checkpoint?.checkpoint_id;
  if (state.interrupts.length === 0 || typeof id !== "string") return state;
  const questions = checkpoints.interrupts(id);
  const tasks = state.tasks.map((task): Json => ({
    ...task,
    interrupts: questions[String(task.id)] ?? task.interrupts,
  }));
  const asking = tasks.flatMap(({ name, interrupts }) => ((interrupts as unknown[]).length > 0 ? String(name) : []));
  const next = [...state.next, ...asking.filter((name) => !state.next.includes(name))];
  const byTask = Object.fromEntries(tasks.map((task) => [task.id, task.interrupts])) as Interrupts;
  return { ...state, next, tasks, interrupts: listInterrupts(uniqueById(byTask)) };
}

/** States newest first, each as JSON. */
export async function streamHistory(
  context: ThreadContext,
  query: HistoryQuery,
): Promise<AsyncGenerator<string, void, void>> {
  const { checkpoint_ns: ns = "", checkpoint_id } = query.checkpoint ?? {};
  const saved = context.checkpoints.get(ns, checkpoint_id ?? undefined);
  // An error of the graph is an answer, so it comes before the stream.
  return readStates(context, await graphAt(context, "threads.read", saved), query);
}

/** `newest`: the graph of the newest state. It also shows those of graphs that are no longer deployed. */
async function* readStates(
  context: ThreadContext,
  newest: Graph | undefined,
  { limit, before, metadata = {}, checkpoint }: HistoryQuery,
): AsyncGenerator<string, void, void> {
  if (!newest) return;
  const { checkpoints } = context;
  const reader = saver(context);
  const wanted = Object.entries(metadata).map(([key, value]) => [key, JSON.stringify(value)] as const);
  let left = limit;
  for (const saved of checkpoints.list(checkpoint?.checkpoint_ns ?? "", { id: readCheckpointId(checkpoint), before })) {
    if (left <= 0) return;
    const held: Json = wanted.length > 0 ? checkpoints.metadata(saved) : {};
    if (!wanted.every(([key, value]) => JSON.stringify(held[key]) === value)) continue;
    left -= 1;
    const graph = await graphAt(context, "threads.read", saved).catch(() => newest);
    const text = await readPastState(graph ?? newest, reader, saved);
    const asks = !checkpoint?.checkpoint_ns && !text.endsWith('"interrupts":[]}');
    yield asks ? JSON.stringify(withQuestions(context, JSON.parse(text) as ThreadState)) : text;
  }
}

/** The checkpoint that an update with this id has made. */
export function findUpdate(
  { tables, threadId }: ThreadContext,
  id: string | undefined,
): { checkpoint: Json } | undefined {
  const made = id === undefined ? undefined : tables.tombstones.read(id);
  if (made === undefined) return undefined;
  const [checkpoint_ns, checkpoint_id] = JSON.parse(made) as [string, string];
  return { checkpoint: { thread_id: threadId, checkpoint_ns, checkpoint_id, checkpoint_map: null } };
}

/**
 * Applies supersteps on top of a checkpoint (the latest when none is named) and refreshes the thread's values. `update_id`: in the
 * metadata of what is written, so that a repeated request finds it.
 */
export async function applyUpdates(
  context: ThreadContext,
  steps: { updates: StateUpdate[] }[],
  checkpoint: CheckpointAddress | undefined,
  { graphId, update_id }: { graphId?: string; update_id?: string } = {},
): Promise<{ checkpoint: Json }> {
  const { checkpoints, threadId } = context;
  const checkpointId = namesLatest(checkpoints, checkpoint) ? undefined : readCheckpointId(checkpoint);
  const saved = checkpoints.get(checkpoint?.checkpoint_ns ?? "", checkpointId);
  const graph = await graphAt(context, "threads.update", saved, graphId);
  if (!graph) throw remoteProblem(400, "This thread has no graph yet. Run one on it first, or set metadata.graph_id.");
  const options = { threadId, checkpointId, checkpointNs: checkpoint?.checkpoint_ns };
  let written: Json;
  try {
    const id = (graphIdAt(context, saved) ?? graphId) as string;
    if (options.checkpointId === undefined) await migrateOnce(graph, { checkpoints, threadId, graphId: id });
    const writer = { ...(await describeWriter(graph, id)), ...(update_id !== undefined && { update_id }) };
    const own = saver(context, writer, saved);
    written = await writeState(graph, own, options, steps);
    own.check();
  } catch (error) {
    throw remoteProblem(
      422,
      `The state cannot be updated so: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  await refresh(context, graph);
  return { checkpoint: written };
}

/** References to the values of a snapshot: with what ended tasks of the next step have written, as a run that pauses leaves it. */
const encodeValues = ({ values: store }: ThreadContext, values: unknown): ValueRefs =>
  Object.fromEntries(
    Object.entries((values ?? {}) as Json).flatMap(([channel, value]) =>
      value === undefined ? [] : [[channel, store.encode(`|${channel}`, value)] as const],
    ),
  );

/**
 * The values that a run leaves which was stopped or has failed while other tasks of its step had ended; undefined when none had, or
 * when the state cannot be read.
 */
export async function readWritten(context: ThreadContext): Promise<ValueRefs | undefined> {
  try {
    const graph = await graphAt(context, "threads.read");
    if (!graph) return undefined;
    const { values, tasks } = await readSnapshot(graph, saver(context), { threadId: context.threadId });
    return tasks.some(({ result }) => result != null) ? encodeValues(context, values) : undefined;
  } catch (error) {
    // A graph that cannot be made is the run's own error.
    const isRefused = error instanceof Error && error.message.startsWith("Problem:409:");
    if (!isRefused) logError(error, { thread: context.threadId, while: "reading what a stopped run has written" });
    return undefined;
  }
}

const NOTHING = { values: {}, next: [] };

/**
 * Makes the thread's record show its latest checkpoint, which `graph` reads; without a graph there is none. `keepsFailure`: the last run
 * failed after what is shown.
 */
export async function refresh(context: ThreadContext, graph: Graph | undefined, keepsFailure = false): Promise<void> {
  const at = { threadId: context.threadId };
  const { values, next } = graph ? await readSnapshot(graph, saver(context), at) : NOTHING;
  const { record } = context;
  if (!record) return;
  const now = Date.now();
  const interrupts = context.checkpoints.interrupts();
  const waits = next.length > 0 || Object.keys(interrupts).length > 0;
  const refreshed: ThreadRecord = {
    ...record,
    updated: now,
    stateUpdated: now,
    values: encodeValues(context, values),
    interrupts,
    ...(!(keepsFailure && record.rest === "error") && { rest: waits ? "interrupted" : "idle", error: undefined }),
    ttl: restartTtl(record.ttl),
  };
  context.eventLog.due(() => context.writeRecord(refreshed));
  context.eventLog.flush();
  context.keepRecord(refreshed);
}

function readCheckpointId(checkpoint: CheckpointAddress | undefined): string | undefined {
  return checkpoint?.checkpoint_id ?? undefined;
}
