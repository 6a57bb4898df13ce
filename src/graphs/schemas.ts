/** JSON Schemas of graphs that are typed only in TypeScript, read from their types when the project was built. */
import { type GraphSchemas, schemasOf as runtimeSchemas } from "../runtime/introspect.ts";
import type { Graph } from "./entry.ts";

type JsonSchema = Record<string, unknown>;

/** What createWeir takes. A kind that the types do not declare is absent. */
export type BuiltSchemas = Partial<Record<"input" | "output" | "state" | "config", JsonSchema>>;

/** By graph id, filled by createWeir. */
export const builtSchemas: Record<string, BuiltSchemas> = {};

/** The schemas of a graph: those that it has at run time, else those of its types, else the names of its channels. */
export async function schemasOf(graphId: string, graph: Graph): Promise<GraphSchemas> {
  return runtimeSchemas(graph, Object.hasOwn(builtSchemas, graphId) ? builtSchemas[graphId] : undefined);
}
