/** A run's graph, and the config that it is made and called with. */
import type { AuthAccess } from "../../deployment.ts";
import { makeGraph } from "../../agents/graphs/graph.ts";
import type { Json } from "../../lib/json.ts";
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

/** What the factory of the run's graph is called with. */
export function buildConfig({ run, thread }: RunOfThread) {
  const { config, context } = mergeConfig(run.request, thread);
  const configurable = { ...config.configurable, ...run.request.configurable, ...runIds({ run, thread }) };
  return { ...config, configurable, context, metadata: mergeMetadata({ run, thread }) };
}

/** The ids that name a run to its graph. */
export const runIds = ({ thread, run: { id, request } }: RunOfThread) => ({
  run_id: id,
  thread_id: thread.thread_id,
  graph_id: request.graph_id,
  assistant_id: request.assistant_id,
});

/** The assistant's metadata, under the thread's, under the run's own. */
export function mergeMetadata({ run, thread }: RunOfThread): Json {
  const { assistant, metadata } = run.request;
  const own = { ...runIds({ run, thread }), run_attempt: run.outcome.attempt };
  return { ...assistant.metadata, ...thread.metadata, ...metadata, ...own };
}

interface MergedConfig {
  tags?: string[];
  recursion_limit?: number;
  configurable: Json;
}

/** The assistant's config, under the thread's, under the run's own; the same for `context`. */
function mergeConfig(request: RunRequest, thread: ThreadRecord): { config: MergedConfig; context: Json } {
  const layers = [request.assistant.config, thread.config, request.config ?? {}] as Partial<MergedConfig>[];
  const config: MergedConfig = {
    tags: layers.flatMap((layer) => layer.tags ?? []),
    recursion_limit: layers.findLast((layer) => layer.recursion_limit !== undefined)?.recursion_limit,
    configurable: Object.assign({}, ...layers.map((layer) => layer.configurable)) as Json,
  };
  const context = { ...request.assistant.context, ...request.context };
  // Clients older than `context` send its values as configurable ones.
  return { config, context: Object.keys(context).length > 0 ? context : config.configurable };
}
