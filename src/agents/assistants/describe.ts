/** `/assistants/{id}/graph`, `/schemas`, `/subgraphs`: the description of an assistant's graph. */
import type { Graph } from "../../deployment.ts";
import { makeGraph, readSchemas, readSubgraphSchemas } from "../graphs/graph.ts";
import { toNumbers } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { type Assistant, resolveAssistant } from "./store.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { database } from "../../db/client.ts";
import { AnyObject } from "../../http/shapes.ts";
import { createDoc } from "../../http/route.ts";
import type { App } from "../../http/context.ts";
import { param, query } from "../../http/validate.ts";
import { drawGraph, GraphSchemas } from "../../runtime/introspect.ts";
import { AssistantPath, GraphQuery, SubgraphPath, SubgraphsQuery } from "./schema.ts";

// The graph of an assistant, built only for inspection.

/** The parts of an assistant that its graph is built from. */
export type GraphConfig = Pick<Assistant, "graph_id" | "config" | "context">;

/** The assistant's graph, compiled with the assistant's own configuration. */
export async function loadGraph({ graph_id, config, context }: GraphConfig, env: Env): Promise<Graph> {
  const graph = await makeGraph(graph_id, toNumbers({ ...config, context }), env, "assistants.read");
  if (!graph) throw new Problem(404, "The graph of this assistant is no longer deployed.");
  return graph;
}

/** The keys of the graph's state. Undefined for a graph that cannot be built: its run reports the error. */
export async function readChannels(assistant: GraphConfig, env: Env): Promise<Set<string> | undefined> {
  const graph = await loadGraph(assistant, env).catch(() => undefined);
  return graph && new Set(Object.keys(graph.channels));
}

/** Whether the graph's state has a `messages` key. True also for a graph that cannot be built. */
export async function hasMessages(assistant: GraphConfig, env: Env): Promise<boolean> {
  const channels = await readChannels(assistant, env);
  return channels === undefined || channels.has("messages");
}

const doc = createDoc("Assistants");

const Drawing = v.object({ nodes: v.array(AnyObject), edges: v.array(AnyObject) });
const { state_schema: shape } = GraphSchemas.entries;
const Subgraphs = v.record(
  v.string(),
  v.object({ ...GraphSchemas.entries, state: shape, input: shape, output: shape, config: shape }),
);

async function requireAssistant(c: Context<App>, id: string): Promise<{ assistant: Assistant; graph: Graph }> {
  const assistant = await resolveAssistant(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!assistant) throw new Problem(404, "Assistant not found.");
  return { assistant, graph: await loadGraph(assistant, c.env) };
}

/** The schemas under the names of both Agent Servers: the JavaScript one says `state`, the Python one `state_schema`. */
function withShortNames(schemas: Record<string, GraphSchemas>): Record<string, object> {
  const named = Object.entries(schemas).map(([name, one]) => {
    const { state_schema: state, input_schema: input, output_schema: output, config_schema: config } = one;
    return [name, { ...one, state, input, output, config }] as const;
  });
  return Object.fromEntries(named);
}

export const assistantGraphs = new Hono<App>()
  .get(
    "/:assistant_id/graph",
    doc("The graph's nodes and edges", Drawing),
    param(AssistantPath),
    query(GraphQuery),
    async (c) => {
      const { graph } = await requireAssistant(c, c.req.valid("param").assistant_id);
      return c.json(await drawGraph(graph, c.req.valid("query").xray));
    },
  )
  .get(
    "/:assistant_id/schemas",
    doc(
      "The graph's input, output, state and context as JSON Schema",
      v.object({ graph_id: v.string(), ...GraphSchemas.entries }),
    ),
    param(AssistantPath),
    async (c) => {
      const { assistant, graph } = await requireAssistant(c, c.req.valid("param").assistant_id);
      return c.json({ graph_id: assistant.graph_id, ...(await readSchemas(assistant.graph_id, graph)) });
    },
  )
  .get(
    "/:assistant_id/subgraphs",
    doc("The schemas of the graph's subgraphs", Subgraphs),
    param(AssistantPath),
    query(SubgraphsQuery),
    async (c) => {
      const { assistant, graph } = await requireAssistant(c, c.req.valid("param").assistant_id);
      const schemas = await readSubgraphSchemas(assistant.graph_id, graph, undefined, c.req.valid("query").recurse);
      return c.json(withShortNames(schemas));
    },
  )
  .get(
    "/:assistant_id/subgraphs/:namespace",
    doc("The schemas of one subgraph, or of those under a namespace", Subgraphs),
    param(SubgraphPath),
    query(SubgraphsQuery),
    async (c) => {
      const { assistant_id, namespace } = c.req.valid("param");
      const { assistant, graph } = await requireAssistant(c, assistant_id);
      const schemas = await readSubgraphSchemas(assistant.graph_id, graph, namespace, c.req.valid("query").recurse);
      return c.json(withShortNames(schemas));
    },
  );
