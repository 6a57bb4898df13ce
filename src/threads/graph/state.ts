/** The thread's state, history and updates, through the graph that made them. */
import { remoteProblem } from "../../http/problem.ts";
import type { Graph } from "../../runtime/graph.ts";
import { Saver } from "../../runtime/saver.ts";
import { readHistory, readState, writeState } from "../../runtime/state.ts";
import { isFactory } from "../../graphs/make.ts";
import { configOf, graphOf } from "./config.ts";
import type { ThreadContext } from "../context.ts";
import type { ThreadRecord } from "../record.ts";
import { storedRun, type StoredRun } from "../run.ts";
import type { Json } from "../../json.ts";
import type { HistoryQuery, StateQuery, StateUpdate } from "../rpc.ts";
import type { CheckpointAddress, ThreadState } from "../types.ts";

/** The runs that are searched for the last one that has begun: waiting runs come first. */
const LOOKED_AT = 20;

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
export async function stateOf(context: ThreadContext, { checkpoint, subgraphs }: StateQuery): Promise<ThreadState> {
  const graph = await graphOfThread(context, "threads.read");
  if (!graph) return EMPTY;
  const checkpointId = checkpointIdOf(checkpoint);
  const ns = checkpoint?.checkpoint_ns ?? "";
  if (checkpointId !== undefined && !context.checkpoints.get(ns, checkpointId)) {
    throw remoteProblem(404, "Checkpoint not found on this thread.");
  }
  const options = { threadId: context.threadId, checkpointId, checkpointNs: ns, subgraphs };
  return JSON.parse(await readState(graph, saver(context), options)) as ThreadState;
}

/** States newest first, each as JSON. */
export async function* historyOf(context: ThreadContext, query: HistoryQuery): AsyncGenerator<string, void, void> {
  const graph = await graphOfThread(context, "threads.read");
  if (!graph) return;
  const { limit, before, metadata, checkpoint } = query;
  const options = {
    threadId: context.threadId,
    checkpointId: checkpointIdOf(checkpoint),
    checkpointNs: checkpoint?.checkpoint_ns,
    limit,
    before,
    filter: metadata,
  };
  yield* readHistory(graph, saver(context), options);
}

/** Applies supersteps on top of a checkpoint (the latest when none is named) and refreshes the thread's values. */
export async function applyUpdates(
  context: ThreadContext,
  steps: { updates: StateUpdate[] }[],
  checkpoint: CheckpointAddress | undefined,
  graphId?: string,
): Promise<{ checkpoint: Json }> {
  const graph = await graphOfThread(context, "threads.update", graphId);
  if (!graph) throw remoteProblem(400, "This thread has no graph yet. Run one on it first, or set metadata.graph_id.");
  const options = {
    threadId: context.threadId,
    checkpointId: checkpointIdOf(checkpoint),
    checkpointNs: checkpoint?.checkpoint_ns,
  };
  let written: Json;
  try {
    const own = saver(context);
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

/** Makes the thread's record show its latest checkpoint. */
async function refresh(context: ThreadContext, graph: Graph): Promise<void> {
  const { record, eventLog } = context;
  if (!record) return;
  const state = JSON.parse(await readState(graph, saver(context), { threadId: context.threadId })) as ThreadState;
  const latest = context.checkpoints.get("");
  const shown = Object.keys(state.values ?? {});
  const refs = Object.fromEntries(Object.entries(latest?.refs ?? {}).filter(([channel]) => shown.includes(channel)));
  const interrupts = state.tasks
    .filter((task) => (task.interrupts as unknown[]).length > 0)
    .map((task) => [task.id, task.interrupts]);
  const now = Date.now();
  const refreshed: ThreadRecord = {
    ...record,
    updated: now,
    stateUpdated: now,
    values: refs,
    interrupts: Object.fromEntries(interrupts) as typeof record.interrupts,
    rest: state.next.length > 0 ? "interrupted" : "idle",
    error: undefined,
  };
  eventLog.due(() => context.writeRecord(refreshed));
  eventLog.flush();
  context.keepRecord(refreshed);
}

function saver(context: ThreadContext): Saver {
  const { graph_id, assistant_id } = context.record?.metadata ?? {};
  return new Saver(context.checkpoints, context.threadId, { thread_id: context.threadId, graph_id, assistant_id });
}

async function graphOfThread(
  context: ThreadContext,
  access: "threads.read" | "threads.update",
  graphId?: string,
): Promise<Graph | undefined> {
  const { record, threadId, env } = context;
  const id = record?.metadata.graph_id ?? graphId;
  if (typeof id !== "string") return undefined;
  // A factory may make another graph of another config: the state is one of the graph that ran last.
  const run = record && (await isFactory(id)) ? lastRun(context) : undefined;
  const config = run ? configOf({ run, thread: record as ThreadRecord }) : { configurable: { thread_id: threadId } };
  return graphOf(id, config, env, access);
}

/** The newest run that has begun. */
function lastRun({ tables }: ThreadContext): StoredRun | undefined {
  for (const row of tables.runs(LOOKED_AT, 0)) if (row.status !== "pending") return storedRun(row);
  return undefined;
}

function checkpointIdOf(checkpoint: CheckpointAddress | undefined): string | undefined {
  return checkpoint?.checkpoint_id ?? undefined;
}
