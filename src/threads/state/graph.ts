/** The graph of a run and of a checkpoint, and the config that it is made and called with. */
import type { AuthAccess } from "../../deployment.ts";
import { mirrorContext } from "../../agents/assistants/context.ts";
import { isFactory, makeGraph } from "../../agents/graphs/graph.ts";
import { type Json, toNumbers } from "../../lib/json.ts";
import { remoteProblem } from "../../lib/problem.ts";
import type { AnyGraph as Graph } from "../../runtime/introspect.ts";
import { type SavedCheckpoint, Saver } from "../../runtime/saver.ts";
import type { ThreadContext } from "../context.ts";
import type { ThreadRecord } from "../record.ts";
import type { RunRequest } from "../rpc.ts";
import { type RunRecord, toRunRecord } from "../run.ts";

/** A run, and the thread that it belongs to. */
export interface RunOfThread {
  run: Pick<RunRecord, "id" | "request" | "outcome">;
  thread: ThreadRecord;
}

/** The compiled graph of this id for a config. Throws when it is not deployed. */
export async function loadGraph(graphId: string, config: Json, env: Env, access: AuthAccess): Promise<Graph> {
  const graph = await makeGraph(graphId, config, env, access);
  if (!graph) throw new Error(`Graph "${graphId}" is not deployed here.`);
  return graph;
}

/** What the factory of the run's graph is called with. A graph has JavaScript's numbers. */
export function buildConfig({ run, thread }: RunOfThread) {
  const { config, context } = mergeConfig(run.request, thread);
  const configurable = { ...config.configurable, ...run.request.configurable, ...runIds({ run, thread }) };
  return toNumbers({ ...config, configurable, context, metadata: mergeMetadata({ run, thread }) });
}

/** The ids that name a run to its graph. */
export const runIds = ({ thread, run: { id, request } }: RunOfThread) => ({
  run_id: id,
  thread_id: thread.thread_id,
  graph_id: request.graph_id,
  assistant_id: request.assistant_id,
});

/** The assistant's metadata, under the thread's, under the run's own; in each, `config.metadata` is under `metadata`. */
export const inheritedMetadata = ({ run: { request }, thread }: RunOfThread): Json => ({
  ...metadataOf(request.assistant.config),
  ...request.assistant.metadata,
  ...metadataOf(thread.config),
  ...thread.metadata,
  ...metadataOf(request.config),
  ...request.metadata,
});

/** The same with what names the run. */
export const mergeMetadata = ({ run, thread }: RunOfThread): Json => ({
  ...inheritedMetadata({ run, thread }),
  ...runIds({ run, thread }),
  run_attempt: run.outcome.attempt,
});

const metadataOf = (config: Json | undefined) => config?.metadata as Json | undefined;

/** The members of a config that LangGraph reads, as clients name them. An absent one is the graph's own, or LangGraph's default. */
interface MergedConfig {
  tags?: string[];
  recursion_limit?: number;
  max_concurrency?: number;
  run_name?: string;
  configurable: Json;
}

/** The assistant's config, under the thread's, under the run's own; the same for `context`. */
function mergeConfig(request: RunRequest, thread: ThreadRecord): { config: MergedConfig; context: Json } {
  const own = mirrorContext(request.config ?? {}, request.context);
  const layers = [request.assistant.config, thread.config, own.config] as Partial<MergedConfig>[];
  const last = <K extends keyof MergedConfig>(key: K) => layers.findLast((layer) => layer[key] != null)?.[key];
  const config: MergedConfig = {
    tags: layers.flatMap((layer) => layer.tags ?? []),
    recursion_limit: last("recursion_limit"),
    max_concurrency: last("max_concurrency"),
    run_name: last("run_name"),
    configurable: Object.assign({}, ...layers.map((layer) => layer.configurable)) as Json,
  };
  return { config, context: { ...request.assistant.context, ...own.context } };
}

/** The context of a run, over the one that its graph is bound to. LangGraph gives nodes none where neither has one. */
export function boundContext(graph: Graph, context: Json): unknown {
  const { context: bound } = (graph.config ?? {}) as { context?: object };
  return bound && Object.keys(context).length === 0 ? bound : { ...bound, ...context };
}

// The graph that wrote a checkpoint: several graphs may run on one thread, one after the other.

/** The runs that are searched for the last one of a graph: waiting runs come first. */
const LOOKED_AT = 20;

/** The id of the graph that wrote a checkpoint; of a checkpoint that names none, and where there is none, that of the thread. */
export function graphIdAt({ record }: Pick<ThreadContext, "record">, saved?: SavedCheckpoint): string | undefined {
  const { graph_id: thread } = record?.metadata ?? {};
  const id = saved?.metadata.graph_id ?? thread;
  return typeof id === "string" ? id : undefined;
}

/**
 * The graph that wrote a checkpoint, the latest one when none is given; that of the thread, or `given`, while there is none. Undefined while
 * the thread has no graph. 409 when it cannot be made here.
 */
export async function graphAt(
  context: ThreadContext,
  access: "threads.read" | "threads.update",
  saved: SavedCheckpoint | undefined = context.checkpoints.get(""),
  given?: string,
): Promise<Graph | undefined> {
  const { record, threadId, env } = context;
  const id = graphIdAt(context, saved) ?? given;
  if (id === undefined) return undefined;
  try {
    // A factory may make another graph of another config: the state is one of the run that wrote it.
    const run = record && (await isFactory(id)) ? writerOf(context, id, saved) : undefined;
    const config = run
      ? buildConfig({ run, thread: record as ThreadRecord })
      : { configurable: { thread_id: threadId } };
    return await loadGraph(id, config, env, access);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw remoteProblem(409, `The graph "${id}" of this thread cannot be made: ${reason}`);
  }
}

/** The run that wrote a checkpoint; of one without a run, the newest run of its graph that has begun. */
function writerOf(context: ThreadContext, graphId: string, saved: SavedCheckpoint | undefined): RunRecord | undefined {
  const run_id = saved?.metadata.run_id;
  const run = typeof run_id === "string" ? context.run(run_id) : undefined;
  if (run) return run;
  for (const row of context.tables.runs.list(LOOKED_AT, 0)) {
    const one = row.status === "pending" ? undefined : toRunRecord(row);
    if (one?.request.graph_id === graphId) return one;
  }
  return undefined;
}

/** What reads the thread's checkpoints, or writes an update on top of `saved`. */
export function saver(
  { checkpoints, threadId, record }: ThreadContext,
  writer: Json = {},
  saved: SavedCheckpoint | undefined = checkpoints.get(""),
): Saver {
  const assistant_id = saved?.metadata.assistant_id ?? record?.metadata.assistant_id;
  const names = { thread_id: threadId, assistant_id, ...writer };
  return new Saver(checkpoints, threadId, names, { inherited: record?.metadata });
}
