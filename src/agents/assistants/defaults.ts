/** The default assistant of each deployed graph: the assistant that a graph id means in place of an assistant id. */
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { settings as configured } from "../../config.ts";
import { graphs } from "../../deployment.ts";
import { uuidv5 } from "../../lib/uuid.ts";

/** The namespace that both official servers use: literally this, not one of RFC 4122's. */
const NAMESPACE = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

const Settings = v.record(
  v.string(),
  v.object({
    configurable: v.optional(v.record(v.string(), v.unknown())),
    context: v.optional(v.record(v.string(), v.unknown())),
  }),
);

export interface DefaultAssistant {
  id: string;
  graphId: string;
  config: Record<string, unknown>;
  context: Record<string, unknown>;
  description: string | undefined;
  metadata: Record<string, unknown>;
}

/** The deployed graphs. Not cached, because tests deploy graphs of their own. */
export const graphIds = (): string[] => Object.keys(graphs);

/** The graph for requests without a graph: `agent`, or the first of the registry. */
export const defaultGraphId = (): string => ("agent" in graphs ? "agent" : (graphIds()[0] ?? ""));

const known = new Map<string, string>();

/** The id of a deployed graph's default assistant. */
export function defaultAssistantId(graphId: string): string {
  const id = known.get(graphId) ?? uuidv5(NAMESPACE, graphId);
  known.set(graphId, id);
  return id;
}

/** Converts a graph id to the id of its default assistant. Other ids are returned in lower case. */
export function toAssistantId(idOrGraphId: string): string {
  return Object.hasOwn(graphs, idOrGraphId) ? defaultAssistantId(idOrGraphId) : idOrGraphId.toLowerCase();
}

/** The source of the default assistants, to detect whether a workspace has the current ones. */
export function defaultsStamp(): string {
  return `${graphIds().join()} ${(env as Env).LANGGRAPH_CONFIG ?? ""} ${JSON.stringify(configured.graphs)}`;
}

/** Whether the id is that of a deployed graph's default assistant, in any workspace. */
export function isDefaultAssistant(id: string): boolean {
  return graphIds().some((graphId) => defaultAssistantId(graphId) === id);
}

/**
 * One default assistant per graph, with the values of LANGGRAPH_CONFIG (`{"<graph
 * id>":{"configurable":{…},"context":{…}}}`), and with the graph's `description` and `metadata` of langgraph.json.
 */
export function defaultAssistants(): DefaultAssistant[] {
  const settings = v.parse(Settings, JSON.parse((env as Env).LANGGRAPH_CONFIG ?? "{}"));
  return graphIds().map((graphId) => {
    const { configurable, context = {} } = settings[graphId] ?? {};
    const { description, metadata = {} } = configured.graphs[graphId] ?? {};
    return {
      id: defaultAssistantId(graphId),
      graphId,
      config: configurable ? { configurable } : {},
      context,
      description,
      metadata,
    };
  });
}
