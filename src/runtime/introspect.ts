/** The description of a graph: its drawing, its JSON Schemas, its subgraphs. */
import type { RunnableConfig } from "@langchain/core/runnables";
import { messagesStateReducer, type Pregel } from "@langchain/langgraph";
import * as v from "valibot";

// oxlint-disable-next-line typescript/no-explicit-any -- the state of any graph
type Graph = Pregel<any, any, any, any, any, any, any, any>;
type JsonSchema = Record<string, unknown>;

const DRAFT = "http://json-schema.org/draft-07/schema#";

/** Schemas of a graph's types. A kind that they do not declare is absent. */
export type TypedSchemas = Partial<Record<"input" | "output" | "state" | "config", JsonSchema>>;

const kind = v.nullable(v.record(v.string(), v.unknown()));
export type GraphSchemas = v.InferOutput<typeof GraphSchemas>;
/** The schemas on the wire. */
export const GraphSchemas = v.object({
  input_schema: kind,
  output_schema: kind,
  state_schema: kind,
  config_schema: kind,
  context_schema: kind,
});

/** The parts of a StateGraph that LangGraph keeps for tools like this one. */
interface Builder {
  _schemaDefinition?: Record<string, unknown>;
  _inputDefinition?: Record<string, unknown>;
  _outputDefinition?: Record<string, unknown>;
}

/**
 * Nodes and edges as LangGraph draws them. `xray` draws subgraphs in place: true for all, a number for as many levels.
 */
export async function drawGraph(graph: Graph, xray: boolean | number): Promise<{ nodes: unknown[]; edges: unknown[] }> {
  const drawn = (await graph.getGraphAsync({ xray } as RunnableConfig)).toJSON() as {
    nodes: unknown[];
    edges: Record<string, unknown>[];
  };
  return { nodes: drawn.nodes, edges: drawn.edges.map((edge) => ({ conditional: false, ...edge })) };
}

/**
 * JSON Schemas of the graph's input, output, state and context; null where the graph declares none. A graph without
 * runtime schemas (`Annotation`) gets those of its `types`, or the names of its channels. Message lists carry `langgraph_type: "messages"`.
 */
export async function introspectSchemas(graph: Graph, types: TypedSchemas = {}): Promise<GraphSchemas> {
  const { _inputDefinition: input, _outputDefinition: output, _schemaDefinition: state } = requireBuilder(graph);
  // LangGraph before 0.3 has no such module: its graphs have no runtime schemas.
  const zod = await import("@langchain/langgraph/zod/schema").catch(() => undefined);
  const context = attempt(() => zod?.getConfigTypeSchema(graph)) ?? addDraft(types.config) ?? null;
  return {
    input_schema: attempt(() => zod?.getInputTypeSchema(graph)) ?? addDraft(types.input) ?? byName(input),
    output_schema: attempt(() => zod?.getOutputTypeSchema(graph)) ?? addDraft(types.output) ?? byName(output),
    state_schema: attempt(() => zod?.getStateTypeSchema(graph)) ?? addDraft(types.state) ?? byName(state),
    config_schema: context,
    context_schema: context,
  };
}

/** Schemas of the subgraphs by namespace; `recurse` adds theirs, with keys such as `outer|inner`. `types`: by the same keys. */
export async function subgraphSchemas(
  graph: Graph,
  namespace: string | undefined,
  recurse: boolean,
  types: Record<string, TypedSchemas> = {},
): Promise<Record<string, GraphSchemas>> {
  const found: Record<string, GraphSchemas> = {};
  for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse))
    found[name] = await introspectSchemas(subgraph, Object.hasOwn(types, name) ? types[name] : undefined);
  return found;
}

/** A schema of types, with the draft that it is written in. */
const addDraft = (schema: JsonSchema | undefined): JsonSchema | undefined => schema && { ...schema, $schema: DRAFT };

function requireBuilder(graph: Graph): Builder {
  return (graph as { builder?: Builder }).builder ?? {};
}

/** A schema with a type that JSON Schema cannot say makes the conversion throw; the channels' names are then the answer. */
function attempt(convert: () => JsonSchema | undefined): JsonSchema | undefined {
  try {
    return convert();
  } catch {
    return undefined;
  }
}

function byName(definition: Record<string, unknown> | undefined): JsonSchema | null {
  if (!definition) return null;
  const properties = Object.entries(definition).map(([name, channel]) => [name, channelSchema(channel)]);
  return { type: "object", properties: Object.fromEntries(properties) };
}

function channelSchema(channel: unknown): JsonSchema {
  const { operator } = (typeof channel === "function" ? channel() : channel) as { operator?: unknown };
  return operator === messagesStateReducer ? { langgraph_type: "messages" } : {};
}
