/** A run's graph, and the config that it is made and called with. */
import type { AuthAccess } from "../../deployment.ts";
import { mirrorContext } from "../../agents/assistants/context.ts";
import { makeGraph } from "../../agents/graphs/graph.ts";
import { type Json, toNumbers } from "../../lib/json.ts";
import type { AnyGraph as Graph } from "../../runtime/introspect.ts";
import type { ThreadRecord } from "../record.ts";
import type { RunRequest } from "../rpc.ts";
import type { RunRecord } from "../run.ts";

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
export function mergeMetadata({ run, thread }: RunOfThread): Json {
  const { assistant } = run.request;
  const own = { ...runIds({ run, thread }), run_attempt: run.outcome.attempt };
  const ofAssistant = { ...metadataOf(assistant.config), ...assistant.metadata };
  return { ...ofAssistant, ...metadataOf(thread.config), ...thread.metadata, ...requestMetadata(run.request), ...own };
}

/** The metadata that a request gives its run. */
export const requestMetadata = ({ config, metadata }: Pick<RunRequest, "config" | "metadata">): Json => ({
  ...metadataOf(config),
  ...metadata,
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
