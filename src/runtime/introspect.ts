/** The description of a graph: its drawing, its JSON Schemas, its subgraphs. */
import type { RunnableConfig } from "@langchain/core/runnables";
import { messagesStateReducer, type Pregel } from "@langchain/langgraph";
import * as v from "valibot";
import { createHash } from "node:crypto";
import type { JsonSchema, TypedSchemas } from "../deployment.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- the state of any graph
type Graph = Pregel<any, any, any, any, any, any, any, any>;

const DRAFT = "http://json-schema.org/draft-07/schema#";

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

/** A compiled graph of any state. */
// oxlint-disable-next-line typescript/no-explicit-any -- its type parameters are the project's
export type AnyGraph = Pregel<any, any, any>;

// What a stored state needs of a graph: its nodes, its channels and its nested graphs, as data.

/** The parts of a graph that its checkpoints refer to. */
export interface GraphShape {
  nodes: string[];
  /** `from -> to`; the condition's name between them where the edge is conditional. */
  edges: string[];
  /** The kind of each channel, such as `LastValue`, `reducer` or `messages`. */
  channels: Record<string, string>;
  /** Where the graph pauses without asking a question: `before:node`, `after:node`. */
  interrupts: string[];
  /** The nested graphs by the node that calls them. */
  subgraphs: Record<string, GraphShape>;
}

interface GraphBuilder {
  edges?: Iterable<[string, string]>;
  waitingEdges?: Iterable<[string[], string]>;
  branches?: Record<string, Record<string, { ends?: Record<string, string> }>>;
}

/** Nested graphs below this depth are left out: a graph may contain itself. */
export const DEEPEST = 8;

/** Of graphs that were described. A compiled graph does not change. */
const known = new WeakMap<AnyGraph, { shape: GraphShape; fingerprint: string }>();

/** The shape of a compiled graph. */
export const describeShape = (graph: AnyGraph): GraphShape => describeGraph(graph).shape;

/** Names a shape: two graphs with the same nodes, edges, channels, interrupts and nested graphs have the same one. */
export const fingerprint = (graph: AnyGraph): string => describeGraph(graph).fingerprint;

function describeGraph(graph: AnyGraph) {
  const found = known.get(graph);
  if (found) return found;
  const shape = shapeAt(graph, 0);
  const made = { shape, fingerprint: hashShape(shape) };
  known.set(graph, made);
  return made;
}

/** 16 hexadecimal digits. */
function hashShape(shape: GraphShape): string {
  return createHash("sha256").update(JSON.stringify(shape)).digest("hex").slice(0, 16);
}

function shapeAt(graph: AnyGraph, depth: number): GraphShape {
  const channels = Object.entries(graph.channels as Record<string, unknown>).map(
    ([name, channel]) => [name, kindOfChannel(channel)] as const,
  );
  const nested = depth < DEEPEST ? [...graph.getSubgraphs()] : [];
  return {
    nodes: Object.keys(graph.nodes).sort(),
    edges: edgesIn((graph as { builder?: GraphBuilder }).builder ?? {}),
    channels: Object.fromEntries(channels.sort(([a], [b]) => (a < b ? -1 : 1))),
    interrupts: [...places("before", graph.interruptBefore), ...places("after", graph.interruptAfter)],
    subgraphs: Object.fromEntries(
      nested
        .map(([name, sub]) => [name, shapeAt(sub as AnyGraph, depth + 1)] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
}

/** A reducer's code may change without a change of what is stored, so that only the reducer of messages has a name. */
function kindOfChannel(channel: unknown): string {
  const { lc_graph_name: name, operator } = channel as { lc_graph_name?: string; operator?: unknown };
  if (operator === undefined) return name ?? "managed";
  return operator === messagesStateReducer ? "messages" : "reducer";
}

function edgesIn({ edges = [], waitingEdges = [], branches = {} }: GraphBuilder): string[] {
  const plain = [...edges].map(([from, to]) => `${from} -> ${to}`);
  const joins = [...waitingEdges].map(([from, to]) => `${from.join("+")} -> ${to}`);
  const conditional = Object.entries(branches).flatMap(([from, named]) =>
    Object.entries(named).flatMap(([name, { ends }]) =>
      Object.values(ends ?? { "": "*" }).map((to) => `${from} -${name}-> ${to}`),
    ),
  );
  return [...plain, ...joins, ...conditional].sort();
}

function places(when: string, nodes: unknown): string[] {
  if (!Array.isArray(nodes)) return nodes === undefined ? [] : [`${when}:*`];
  return nodes.map((node) => `${when}:${String(node)}`).sort();
}
