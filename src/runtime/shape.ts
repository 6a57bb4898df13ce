/** What a stored state needs of a graph: its nodes, its channels and its nested graphs, as data. */
import { createHash } from "node:crypto";
import { messagesStateReducer } from "@langchain/langgraph";
import type { Graph } from "./graph.ts";

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

interface Builder {
  edges?: Iterable<[string, string]>;
  waitingEdges?: Iterable<[string[], string]>;
  branches?: Record<string, Record<string, { ends?: Record<string, string> }>>;
}

/** Nested graphs below this depth are left out: a graph may contain itself. */
export const DEEPEST = 8;

/** Of graphs that were described. A compiled graph does not change. */
const known = new WeakMap<Graph, { shape: GraphShape; fingerprint: string }>();

/** The shape of a compiled graph. */
export const describeShape = (graph: Graph): GraphShape => describeGraph(graph).shape;

/** Names a shape: two graphs with the same nodes, edges, channels, interrupts and nested graphs have the same one. */
export const fingerprint = (graph: Graph): string => describeGraph(graph).fingerprint;

function describeGraph(graph: Graph) {
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

function shapeAt(graph: Graph, depth: number): GraphShape {
  const channels = Object.entries(graph.channels as Record<string, unknown>).map(
    ([name, channel]) => [name, kindOfChannel(channel)] as const,
  );
  const nested = depth < DEEPEST ? [...graph.getSubgraphs()] : [];
  return {
    nodes: Object.keys(graph.nodes).sort(),
    edges: edgesIn((graph as { builder?: Builder }).builder ?? {}),
    channels: Object.fromEntries(channels.sort(([a], [b]) => (a < b ? -1 : 1))),
    interrupts: [...places("before", graph.interruptBefore), ...places("after", graph.interruptAfter)],
    subgraphs: Object.fromEntries(
      nested
        .map(([name, sub]) => [name, shapeAt(sub as Graph, depth + 1)] as const)
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

function edgesIn({ edges = [], waitingEdges = [], branches = {} }: Builder): string[] {
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
