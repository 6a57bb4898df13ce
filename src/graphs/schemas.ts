/** JSON Schemas of graphs that are typed only in TypeScript, read from their types when the project was built. */
import {
  type GraphSchemas,
  introspectSchemas as runtimeSchemas,
  subgraphSchemas as runtimeSubgraphs,
  type TypedSchemas,
} from "../runtime/introspect.ts";
import type { Graph } from "../deployment.ts";

/** What createWeir takes. Those of subgraphs are by namespace. */
export interface BuiltSchemas extends TypedSchemas {
  subgraphs?: Record<string, TypedSchemas>;
}

/** By graph id, filled by createWeir. */
export const builtSchemas: Record<string, BuiltSchemas> = {};

/** The schemas of a graph: those that it has at run time, else those of its types, else the names of its channels. */
export async function readSchemas(graphId: string, graph: Graph): Promise<GraphSchemas> {
  return runtimeSchemas(graph, findBuiltSchemas(graphId));
}

/** The same of a graph's subgraphs by namespace; `recurse` adds theirs. */
export async function readSubgraphSchemas(
  graphId: string,
  graph: Graph,
  namespace: string | undefined,
  recurse: boolean,
): Promise<Record<string, GraphSchemas>> {
  return runtimeSubgraphs(graph, namespace, recurse, findBuiltSchemas(graphId)?.subgraphs);
}

const findBuiltSchemas = (graphId: string): BuiltSchemas | undefined =>
  Object.hasOwn(builtSchemas, graphId) ? builtSchemas[graphId] : undefined;
